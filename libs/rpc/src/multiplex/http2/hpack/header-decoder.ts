import { ConnectionError, errorCode } from '../protocol.ts';
import { decodeHuffman } from './huffman.ts';
import { type HeaderField, staticTable } from './static-table.ts';

/**
 * Reads the header blocks of one direction of a connection, in their order: each may refer to fields of earlier ones.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7541
 */
export class HeaderDecoder {
  readonly #table = new DynamicTable();

  /** The fields of a block. Of those that stand there more than once, the last. */
  decode(block: Buffer): ReadonlyMap<string, string> {
    const fields = new Map<string, string>();
    const cursor = new BlockCursor(block);
    let room = largestListBytes;
    for (let isFirst = true; !cursor.isAtEnd; ) {
      const field = this.#next(cursor, isFirst);
      if (field === undefined) continue;
      isFirst = false;
      room -= costOf(field);
      if (room < 0) throw new ConnectionError(errorCode.enhanceYourCalm, 'a header block is too large');
      fields.set(field.name, field.value);
    }
    return fields;
  }

  /** The next field; or nothing where the block changes the size of the table, which it may at its beginning. */
  #next(cursor: BlockCursor, mayResize: boolean): HeaderField | undefined {
    const byte = cursor.peek();
    if (byte >= 0x80) return this.#fieldAt(cursor.integer(7));
    if (byte >= 0x40) {
      const field = this.#literal(cursor, 6);
      this.#table.add(field);
      return field;
    }
    if (byte < 0x20) return this.#literal(cursor, 4);
    const size = cursor.integer(5);
    if (!mayResize) throw malformed('the size of the table changes within a block');
    this.#table.resize(size);
    return undefined;
  }

  #literal(cursor: BlockCursor, prefixBits: number): HeaderField {
    const index = cursor.integer(prefixBits);
    const name = index === 0 ? cursor.string() : this.#fieldAt(index).name;
    return { name, value: cursor.string() };
  }

  #fieldAt(index: number): HeaderField {
    const field = index <= staticTable.length ? staticTable[index - 1] : this.#table.at(index - staticTable.length - 1);
    if (field === undefined) throw malformed(`there is no field ${index}`);
    return field;
  }
}

/** The fields that blocks have added, the newest first. */
class DynamicTable {
  readonly #fields: HeaderField[] = [];
  #size = 0;
  #room = largestTableBytes;

  at(index: number): HeaderField | undefined {
    return this.#fields[index];
  }

  add(field: HeaderField): void {
    this.#fields.unshift(field);
    this.#size += costOf(field);
    this.#evict();
  }

  resize(room: number): void {
    if (room > largestTableBytes) throw malformed('the table is made larger than it may be');
    this.#room = room;
    this.#evict();
  }

  #evict(): void {
    while (this.#size > this.#room) {
      const oldest = this.#fields.pop();
      if (oldest === undefined) break;
      this.#size -= costOf(oldest);
    }
  }
}

/** Integers and strings of a block, one after another. */
class BlockCursor {
  readonly #block: Buffer;
  #offset = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#block.length;
  }

  peek(): number {
    const byte = this.#block[this.#offset];
    if (byte === undefined) throw malformed('a header block ends within a field');
    return byte;
  }

  /** An integer whose first byte shares its place with what stands before these bits. */
  integer(prefixBits: number): number {
    const mask = 2 ** prefixBits - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (value > largestInteger) throw malformed('a number is too large');
      if (byte < 0x80) return value;
      if (factor > largestInteger) throw malformed('a number is too long');
    }
  }

  string(): string {
    const isHuffman = this.peek() >= 0x80;
    const length = this.integer(7);
    const start = this.#offset;
    this.#offset += length;
    if (this.#offset > this.#block.length) throw malformed('a string is longer than its block');
    const bytes = this.#block.subarray(start, this.#offset);
    return (isHuffman ? decodeHuffman(bytes) : bytes).toString('latin1');
  }

  #byte(): number {
    const byte = this.peek();
    this.#offset++;
    return byte;
  }
}

function malformed(words: string): ConnectionError {
  return new ConnectionError(errorCode.compressionError, words);
}

/** What a field takes of a table or a list. */
function costOf({ name, value }: HeaderField): number {
  return name.length + value.length + 32;
}

/** What is taken of a block, by the sum of what its fields cost. Blocks of gRPC have a few hundred bytes. */
export const largestListBytes = 16 * 1024;

/** A table's size while nobody has set another. */
const largestTableBytes = 4_096;

const largestInteger = 2 ** 28;
