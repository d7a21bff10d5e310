import { isUtf8 } from 'node:buffer';

/**
 * The offset of the first quote, backslash or control character; the end of the text if there is
 * none. Nearly all bytes of a body pass through here. It tests four bytes at once, which makes the
 * whole scan two to three times faster.
 */
export function endOfPlain(text: DataView, from: number): number {
  let at = from;
  for (const last = text.byteLength - 4; at <= last; at += 4) {
    const marks = marksOfSpecial(text.getInt32(at, true));
    if (marks !== 0) return at + placeOfLowest(marks);
  }
  while (at < text.byteLength && marksOfSpecial(text.getUint8(at) | spaces) === 0) at += 1;
  return at;
}

/**
 * The offset of the first byte that is not JSON whitespace; the end of the text if there is none.
 */
export function endOfWhitespace(text: DataView, from: number): number {
  let at = from;
  for (const last = text.byteLength - 4; at <= last; at += 4) {
    const four = text.getInt32(at, true);
    if (four !== fourBlanks && marksOfWhitespace(four) !== highestBitOfEach) break;
  }
  while (at < text.byteLength && isWhitespace[text.getUint8(at)] === 1) at += 1;
  return at;
}

/** The offset of the first byte that is not a digit; the end of the text if there is none. */
export function endOfDigits(text: DataView, from: number): number {
  let at = from;
  for (const last = text.byteLength - 4; at <= last; at += 4) {
    const digits = text.getInt32(at, true) ^ 0x30_30_30_30;
    if (((((digits & lowBitsOfEach) + 0x76_76_76_76) | digits) & highestBitOfEach) !== 0) break;
  }
  while (at < text.byteLength && isDigit[text.getUint8(at)] === 1) at += 1;
  return at;
}

const fourBlanks = 0x20_20_20_20;
const lowBitsOfEach = 0x7f_7f_7f_7f;

/** Marks each of four bytes that is whitespace by its highest bit. */
function marksOfWhitespace(four: number): number {
  return (
    marksOfZero(four ^ fourBlanks) |
    marksOfZero(four ^ 0x0a_0a_0a_0a) |
    marksOfZero(four ^ 0x0d_0d_0d_0d) |
    marksOfZero(four ^ 0x09_09_09_09)
  );
}

/**
 * Marks each of four bytes that is zero by its highest bit. Unlike `marksOfSpecial`, it marks no
 * other byte.
 */
function marksOfZero(four: number): number {
  return ~(((four & lowBitsOfEach) + lowBitsOfEach) | four | lowBitsOfEach);
}

/** Lookup table: 1 for bytes that complete a two-character escape (`\n`, `\"`, …), 0 for others. */
export const isShortEscape = tableOf('"\\/bfnrt');
export const isWhitespace = tableOf(' \n\r\t');
export const isDigit = tableOf('0123456789');
export const isHexDigit = tableOf('0123456789abcdefABCDEF');

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of Buffer.from(characters)) table[byte] = 1;
  return table;
}

/** The length of the escape that starts at this offset; 0 if none does, or if it is incomplete. */
export function escapeLength(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== 0x5c) return 0;
  if (isShortEscape[bytes[at + 1] ?? 0] === 1) return 2;
  if (bytes[at + 1] !== 0x75) return 0;
  for (let digit = at + 2; digit < at + 6; digit++) if (isHexDigit[bytes[digit] ?? 0] !== 1) return 0;
  return 6;
}

/**
 * Marks each of four bytes that is not plain by its highest bit. The borrow may also mark a byte
 * above one that is not plain, so only the lowest mark is reliable.
 */
function marksOfSpecial(four: number): number {
  // Maps a quote (0x22) to the byte after the control characters, and permutes the control
  // characters.
  const turned = four ^ 0x02_02_02_02;
  const besideBackslash = four ^ 0x5c_5c_5c_5c;
  return (
    (((turned - 0x21_21_21_21) & ~turned) | ((besideBackslash - 0x01_01_01_01) & ~besideBackslash)) & highestBitOfEach
  );
}

const highestBitOfEach = 0x80_80_80_80 | 0;

/** Plain bytes that stand for the three missing ones at the end. */
const spaces = 0x20_20_20_00;

function placeOfLowest(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}

/** Checks that a text is UTF-8 while its bytes arrive. Chunks may split characters. */
export class Utf8Check {
  /** The start of a character whose remaining bytes have not arrived yet. */
  #cut: Uint8Array = nothing;

  /** False when the bytes so far can't be UTF-8. */
  push(bytes: Uint8Array): boolean {
    const text = this.isWhole ? bytes : Buffer.concat([this.#cut, bytes]);
    const end = text.length - cutAtEnd(text);
    // A copy, because the memory of these bytes belongs to the caller.
    this.#cut = end === text.length ? nothing : Uint8Array.from(text.subarray(end));
    return isUtf8(text.subarray(0, end));
  }

  /** Whether the text ends at the end of a character. */
  get isWhole(): boolean {
    return this.#cut.length === 0;
  }
}

/** How many bytes at the end start a character without completing it. */
function cutAtEnd(text: Uint8Array): number {
  const last = text.subarray(-3);
  const first = last.findLastIndex((byte) => byte < 0x80 || byte >= 0xc0);
  const byte = last[first] ?? 0;
  const wholeLength = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0;
  return wholeLength > last.length - first ? last.length - first : 0;
}

const nothing = new Uint8Array(0);
