/**
 * Reads bytes of protobuf's wire format, one value after another, as protobuf-es reads them. Throws for bytes that are cut
 * short or no such format.
 */
export class WireReader {
  readonly #bytes: Buffer;
  #position = 0;
  /** The halves of the last integer of 64 bits. */
  #low = 0;
  #high = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get position(): number {
    return this.#position;
  }

  /** The tag of a field: its number times 8, and its wire type. */
  tag(): number {
    const byte = this.#bytes[this.#position];
    if (byte !== undefined && byte < 0x80 && isTag(byte)) {
      this.#position++;
      return byte;
    }
    return this.#longTag();
  }

  /** An unsigned integer of 32 bits; higher bits are dropped. */
  uint32(): number {
    const byte = this.#bytes[this.#position];
    if (byte === undefined || byte > 0x7f) return this.#longVarint();
    this.#position++;
    return byte;
  }

  int32(): number {
    return this.uint32() | 0;
  }

  bool(): boolean {
    this.#varint64();
    return this.#low !== 0 || this.#high !== 0;
  }

  int64(): bigint {
    this.#varint64();
    if (this.#high === 0 && this.#low >= 0) return BigInt(this.#low);
    return (BigInt(this.#high) << 32n) | BigInt(this.#low >>> 0);
  }

  uint64(): bigint {
    this.#varint64();
    if (this.#high === 0 && this.#low >= 0) return BigInt(this.#low);
    return (BigInt(this.#high >>> 0) << 32n) | BigInt(this.#low >>> 0);
  }

  double(): number {
    const value = this.#bytes.readDoubleLE(this.#position);
    this.#position += 8;
    return value;
  }

  /** Bytes behind their length, as a view of what is read. */
  bytes(): Buffer {
    const start = this.#enter();
    return this.#bytes.subarray(start, this.#position);
  }

  /** Text behind the length of its UTF-8. */
  string(): string {
    const start = this.#enter();
    const end = this.#position;
    if (end - start <= mostCharactersInALoop) {
      const text = asciiOf(this.#bytes, start, end);
      if (text !== undefined) return text;
    }
    const text = this.#bytes.toString('utf8', start, end);
    // Node puts this in the place of what is no UTF-8; it may also stand in the text itself.
    return text.includes('\ufffd') ? strictDecoder.decode(this.#bytes.subarray(start, end)) : text;
  }

  /** The bytes of a field that is not known, without its tag. `depth` bounds groups within groups. */
  skip(tag: number, depth: number): Buffer {
    const start = this.#position;
    this.#passOver(tag, depth);
    this.#checkEnd();
    return this.#bytes.subarray(start, this.#position);
  }

  #passOver(tag: number, depth: number): void {
    switch (tag & 7) {
      case 0:
        while ((this.#bytes[this.#position++] ?? 0) > 0x7f);
        return;
      case 1:
        this.#position += 8;
        return;
      case 2:
        this.#passOverBytes();
        return;
      case 3:
        return this.#passOverGroup(tag >>> 3, depth);
      case 5:
        this.#position += 4;
        return;
      default:
        throw new Error(`a field of wire type ${tag & 7} cannot be passed over`);
    }
  }

  #passOverBytes(): void {
    const length = this.uint32();
    this.#position += length;
  }

  #passOverGroup(field: number, depth: number): void {
    if (depth <= 0) throw new Error('groups are nested too deep');
    for (;;) {
      const tag = this.tag();
      if ((tag & 7) === endOfGroup) {
        if (tag >>> 3 !== field) throw new Error('a group ends as another one');
        return;
      }
      this.skip(tag, depth - 1);
    }
  }

  /** Reads a length and goes behind the bytes that it announces. Returns where they begin. */
  #enter(): number {
    const length = this.uint32();
    const start = this.#position;
    this.#position = start + length;
    this.#checkEnd();
    return start;
  }

  #checkEnd(): void {
    if (this.#position > this.#bytes.length) throw new RangeError('a message is cut short');
  }

  #longTag(): number {
    const start = this.#position;
    const tag = this.uint32();
    const length = this.#position - start;
    const overflows = length > 5 || (length === 5 && (this.#bytes[this.#position - 1] ?? 0) > 0x0f);
    if (overflows || !isTag(tag)) throw new Error(`${tag} is not the tag of a field`);
    return tag;
  }

  #longVarint(): number {
    this.#varint64();
    return this.#low >>> 0;
  }

  #varint64(): void {
    let low = 0;
    let high = 0;
    for (let index = 0; index < longestVarint; index++) {
      const byte = this.#bytes[this.#position++];
      if (byte === undefined) throw new RangeError('a message is cut short');
      const shift = 7 * index;
      // The fifth byte has bits of both halves.
      if (shift < 32) low |= (byte & 0x7f) << shift;
      if (shift > 28) high |= (byte & 0x7f) << (shift - 32);
      else if (shift === 28) high = (byte & 0x70) >> 4;
      if (byte < 0x80) {
        this.#low = low;
        this.#high = high;
        return;
      }
    }
    throw new Error('an integer is longer than ten bytes');
  }
}

function isTag(tag: number): boolean {
  return tag > 7 && (tag & 7) <= 5;
}

function asciiOf(bytes: Buffer, start: number, end: number): string | undefined {
  const codes = new Array<number>(end - start);
  for (let index = start; index < end; index++) {
    const byte = bytes[index] ?? 0;
    if (byte > 0x7f) return undefined;
    codes[index - start] = byte;
  }
  return String.fromCharCode.apply(String, codes);
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const endOfGroup = 4;

const longestVarint = 10;

/** Longer texts are read faster by Node, which costs 60 ns whatever their length. */
const mostCharactersInALoop = 8;
