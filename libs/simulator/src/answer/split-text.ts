/**
 * Splits a text into the deltas of a stream: at word borders, the space going with the word after it. A run without spaces
 * (Chinese, a row of emoji, JSON) is split after so many characters. No character is ever cut in two, and the deltas
 * joined are the text.
 */
export function* splitText(text: string, longestRun: 6 | 16 = 16): Generator<string> {
  for (const [delta] of text.matchAll(patterns[longestRun])) yield delta;
}

const patterns = { 6: /\s*\S{1,6}|\s+/gu, 16: /\s*\S{1,16}|\s+/gu };
