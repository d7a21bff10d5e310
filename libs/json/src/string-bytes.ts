/**
 * The place of the first byte that is not plain; the end when there is none. Most bytes of most bodies pass here.
 */
export function endOfPlain(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isPlain[bytes[at] ?? 0] === 1) at += 1;
  return at;
}

/** One where a byte is an escape by itself behind a backslash. */
export const isShortEscape = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) isShortEscape[byte] = 1;

const quote = 0x22;
const backslash = 0x5c;

/** One where a byte is plain in a string: no quote, backslash or control character. */
const isPlain = new Uint8Array(256)
  .fill(1, 0x20)
  .fill(0, quote, quote + 1)
  .fill(0, backslash, backslash + 1);
