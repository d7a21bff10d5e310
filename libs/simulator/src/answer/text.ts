/**
 * Splits a text into the deltas of a stream: at word boundaries, with the space before its word. A
 * run without spaces (Chinese, emoji, JSON) is split after a number of characters. No character is
 * ever split, and the joined deltas equal the text. A text of a mebibyte or more without spaces has
 * longer deltas, so that it takes seconds, not minutes.
 */
export function* splitText(text: string, longestRun: 6 | 16 = 16): Generator<string> {
  const isLong = text.length >= longTextCharacters && !text.slice(0, longTextCharacters).includes(' ');
  const pattern = isLong ? longDeltas : patterns[longestRun];
  for (const [delta] of text.matchAll(pattern)) yield delta;
}

const longTextCharacters = 1024 * 1024;
const longDeltas = /[\s\S]{1,16384}/gu;

const patterns = { 6: /\s+\S{0,6}|\S{1,6}/gu, 16: /\s+\S{0,16}|\S{1,16}/gu };

/**
 * The simulator's token rule: one token for every four bytes of UTF-8, rounded up. An empty text
 * has no tokens. It is not any provider's tokenizer, but exact and easy to repeat in a test.
 */
export function countTokens(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text));
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** The longest prefix of a text with at most this many tokens; no character is split. */
export function cutToTokens(text: string, tokens: number): string {
  const maximumBytes = tokens * 4;
  if (Buffer.byteLength(text) <= maximumBytes) return text;
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maximumBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}
