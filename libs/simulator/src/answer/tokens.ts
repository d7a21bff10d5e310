/**
 * The simulator's token rule: one token for every four bytes of UTF-8, rounded up. Empty text has no tokens.
 * It is not any provider's tokenizer; it is exact, and easy to repeat in a test.
 */
export function countTokens(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text));
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** The longest beginning of a text that has at most so many tokens; no character is cut in two. */
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
