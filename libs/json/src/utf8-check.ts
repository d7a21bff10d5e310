import { isUtf8 } from 'node:buffer';

/** Checks while the bytes of a text arrive that they are UTF-8. A character may be cut anywhere. */
export class Utf8Check {
  /** The beginning of a character whose rest has not come yet. */
  #cut: Uint8Array = nothing;

  /** False when what has come so far can't be UTF-8. */
  push(bytes: Uint8Array): boolean {
    const from = this.#cut.length === 0 ? 0 : missingOf(this.#cut);
    if (from > bytes.length) {
      this.#cut = Buffer.concat([this.#cut, bytes]);
      return true;
    }
    if (from > 0 && !isUtf8(Buffer.concat([this.#cut, bytes.subarray(0, from)]))) return false;
    const end = bytes.length - cutAtEnd(bytes, from);
    // Of its own: the memory of these bytes is not ours.
    this.#cut = end === bytes.length ? nothing : Uint8Array.from(bytes.subarray(end));
    return isUtf8(from === 0 && end === bytes.length ? bytes : bytes.subarray(from, end));
  }

  /** Whether no character is cut. */
  get isWhole(): boolean {
    return this.#cut.length === 0;
  }
}

/** How many bytes at the end begin a character without ending it. Bytes before `from` don't count. */
function cutAtEnd(bytes: Uint8Array, from: number): number {
  for (let length = 1; length <= 3 && length <= bytes.length - from; length++) {
    const byte = bytes[bytes.length - length] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return lengthBegunBy(byte) > length ? length : 0;
  }
  return 0;
}

function missingOf(cut: Uint8Array): number {
  return lengthBegunBy(cut[0] ?? 0) - cut.length;
}

/** How long a character is that begins with a byte, as far as the byte shows. */
function lengthBegunBy(byte: number): number {
  if (byte >= 0xf0) return 4;
  return byte >= 0xe0 ? 3 : 2;
}

const nothing = new Uint8Array(0);
