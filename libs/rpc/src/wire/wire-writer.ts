import { type MessageBytes, MessageInParts } from './message-in-parts.ts';

/** Bytes of protobuf's wire format, written one after another into a buffer that is used again for every message. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(usualBytes);
  #end = 0;
  /** How many parts have begun that have not ended. */
  #depth = 0;
  readonly #asideFromBytes: number;
  #aside: Aside[] = noneAside;

  /** Bytes so long, outside of any part, are not copied: see `takeParts`. */
  constructor({ asideFromBytes = Number.POSITIVE_INFINITY } = {}) {
    this.#asideFromBytes = asideFromBytes;
  }

  /** All that was written, as bytes of its own. The writer is empty afterwards. For a writer that copies whatever is written. */
  take(): Buffer {
    const taken = Buffer.allocUnsafe(this.#end);
    this.#bytes.copy(taken, 0, 0, this.#end);
    this.reset();
    return taken;
  }

  /** The same, with long bytes as they were given. */
  takeParts(): MessageBytes {
    const aside = this.#aside;
    const written = this.take();
    if (aside.length === 0) return written;
    const parts: Uint8Array[] = [];
    let start = 0;
    for (const { at, bytes } of aside) {
      parts.push(written.subarray(start, at), bytes);
      start = at;
    }
    if (start < written.length) parts.push(written.subarray(start));
    return new MessageInParts(parts);
  }

  /** Forgets what was written. */
  reset(): void {
    this.#end = 0;
    this.#depth = 0;
    this.#aside = noneAside;
    if (this.#bytes.length > mostKeptBytes) this.#bytes = Buffer.allocUnsafe(usualBytes);
  }

  /** An integer from 0 to 2^53 - 1, also the tag of a field. */
  varint(value: number): void {
    this.#makeRoom(longestVarint);
    if (value < 0x80) {
      this.#bytes[this.#end++] = value;
      return;
    }
    let rest = value;
    while (rest > 0x7f_ff_ff_ff) {
      this.#bytes[this.#end++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    while (rest > 0x7f) {
      this.#bytes[this.#end++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#end++] = rest;
  }

  /** An integer of 64 bits; a negative one as its two's complement. */
  varint64(value: bigint): void {
    if (value >= 0n && value <= largestExact) return this.varint(Number(value));
    this.#makeRoom(longestVarint);
    let rest = BigInt.asUintN(64, value);
    while (rest > 0x7fn) {
      this.#bytes[this.#end++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#end++] = Number(rest);
  }

  double(value: number): void {
    this.#makeRoom(8);
    this.#end = this.#bytes.writeDoubleLE(value, this.#end);
  }

  /** Bytes behind their length. */
  bytes(value: Uint8Array): void {
    this.varint(value.length);
    if (this.#depth === 0 && value.length >= this.#asideFromBytes) this.#putAside(value);
    else this.raw(value);
  }

  /** Text behind the length of its UTF-8. */
  string(value: string): void {
    this.#makeRoom(longestVarint + mostBytesPerCharacter * value.length);
    if (value.length > mostCharactersInALoop || !this.#writeAscii(value)) this.#writeText(value);
  }

  raw(value: Uint8Array): void {
    this.#makeRoom(value.length);
    this.#bytes.set(value, this.#end);
    this.#end += value.length;
  }

  /** Begins a part that stands behind its length. Give what this returns to `endPart`. */
  beginPart(): number {
    this.#makeRoom(1);
    this.#end++;
    this.#depth++;
    return this.#end;
  }

  endPart(start: number): void {
    this.#depth--;
    const length = this.#end - start;
    // Room was left for a length of one byte; a longer one moves the part.
    const shift = bytesOfVarint(length) - 1;
    if (shift > 0) {
      this.#makeRoom(shift);
      this.#bytes.copyWithin(start + shift, start, this.#end);
    }
    this.#end = start - 1;
    this.varint(length);
    this.#end += length;
  }

  #putAside(bytes: Uint8Array): void {
    this.#aside = [...this.#aside, { at: this.#end, bytes }];
  }

  /** A call out of JavaScript costs 60 ns, in which a loop writes twenty characters. False: it has others than ASCII. */
  #writeAscii(value: string): boolean {
    const bytes = this.#bytes;
    const start = this.#end + 1;
    for (let index = 0; index < value.length; index++) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) return false;
      bytes[start + index] = code;
    }
    bytes[this.#end] = value.length;
    this.#end = start + value.length;
    return true;
  }

  /** Written where it stands if it is ASCII, and measured by that: to ask for its length before costs as much again. */
  #writeText(value: string): void {
    const expected = bytesOfVarint(value.length);
    const start = this.#end + expected;
    const length = this.#bytes.write(value, start);
    const actual = bytesOfVarint(length);
    if (actual > expected) this.#bytes.copyWithin(this.#end + actual, start, start + length);
    this.varint(length);
    this.#end += length;
  }

  #makeRoom(bytes: number): void {
    const needed = this.#end + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}

/** Bytes that stand before whatever was written from a place on. */
interface Aside {
  readonly at: number;
  readonly bytes: Uint8Array;
}

const noneAside: Aside[] = [];

const usualBytes = 16 * 1024;

/** A buffer that grew beyond this is not kept. */
const mostKeptBytes = 1024 * 1024;

const longestVarint = 10;

/** Of UTF-8, for each character of a text as JavaScript counts them. */
const mostBytesPerCharacter = 3;

/** Longer texts are written faster by Node than by a loop; and their length takes one byte. */
const mostCharactersInALoop = 16;

const largestExact = BigInt(Number.MAX_SAFE_INTEGER);

function bytesOfVarint(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) bytes++;
  return bytes;
}
