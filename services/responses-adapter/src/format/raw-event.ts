import { asObject, asString, parseJson } from '@gateway/json';
import type { StreamPiece } from '@gateway/sse';

/** A range of bytes: `[start, end)`. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** One event of a stream as it came, and what of it can be told without parsing its JSON. */
export class RawEvent {
  /** With the blank line that ends it: `[start, end)` of the piece. */
  readonly bytes: Buffer;
  readonly piece: StreamPiece;
  readonly start: number;
  readonly end: number;
  readonly #dataLines: Range[] = [];
  #name: Range = { start: 0, end: 0 };
  #data: Buffer | undefined;

  constructor(piece: StreamPiece, start = 0, end = piece.bytes.length) {
    const bytes = piece.bytes.subarray(start, end);
    this.piece = piece;
    this.start = start;
    this.end = end;
    this.bytes = bytes;
    const hasCarriageReturn = bytes.includes(0x0d);
    for (let lineStart = hasByteOrderMark(bytes) ? 3 : 0; lineStart < bytes.length; ) {
      const lineEnd = lineEndFrom(bytes, lineStart, hasCarriageReturn);
      this.#readLine(lineStart, lineEnd);
      lineStart = lineEnd + 1;
    }
  }

  /** The `event:` line, or "message" when there was none. */
  get name(): string {
    const { start, end } = this.#name;
    return end === start ? 'message' : this.bytes.toString('utf8', start, end);
  }

  /** The data lines joined with LF; empty when there is none. */
  get data(): Buffer {
    this.#data ??= this.#joinData();
    return this.#data;
  }

  get text(): string {
    return this.data.toString('utf8');
  }

  /** True for the `[DONE]` that some backends end every stream with. */
  get isDone(): boolean {
    return this.data.length === doneMarker.length && this.data.equals(doneMarker);
  }

  /** What the data's JSON says; the name where it does not say it. Undefined when the data is no JSON object. */
  get type(): string | undefined {
    return leadingType(this.data) ?? this.#parsedType();
  }

  /** Where a byte of the data stands among all bytes. */
  positionOf(dataOffset: number): number {
    let lineStart = 0;
    for (const { start, end } of this.#dataLines) {
      if (dataOffset <= lineStart + end - start) return start + dataOffset - lineStart;
      lineStart += end - start + 1;
    }
    throw new RangeError(`The data has no byte ${dataOffset}.`);
  }

  #readLine(start: number, end: number): void {
    const value = fieldValue(this.bytes, dataField, start, end);
    if (value !== undefined) this.#dataLines.push(value);
    else this.#name = fieldValue(this.bytes, eventField, start, end) ?? this.#name;
  }

  #joinData(): Buffer {
    const [first, ...more] = this.#dataLines;
    if (first === undefined) return nothing;
    const firstLine = this.bytes.subarray(first.start, first.end);
    if (more.length === 0) return firstLine;
    return Buffer.concat([firstLine, ...more.flatMap(({ start, end }) => [newline, this.bytes.subarray(start, end)])]);
  }

  #parsedType(): string | undefined {
    const json = asObject(parseJson(this.text));
    if (json === undefined) return undefined;
    return asString(json.type) ?? (asObject(json.error) === undefined ? this.name : 'error');
  }
}

const doneMarker = Buffer.from('[DONE]');
const nothing = Buffer.alloc(0);
const newline = Buffer.from('\n');

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** An LF after a CR ends an empty line, which says nothing. */
function lineEndFrom(bytes: Buffer, start: number, hasCarriageReturn: boolean): number {
  const lineFeed = bytes.indexOf(0x0a, start);
  const end = lineFeed < 0 ? bytes.length : lineFeed;
  const carriageReturn = hasCarriageReturn ? bytes.indexOf(0x0d, start) : -1;
  return carriageReturn < 0 ? end : Math.min(carriageReturn, end);
}

const dataField = Buffer.from('data');
const eventField = Buffer.from('event');

/** What stands after the colon and one space. Undefined when the line is of another field. */
function fieldValue(bytes: Buffer, field: Buffer, start: number, end: number): Range | undefined {
  const colonAt = start + field.length;
  if (colonAt > end || !standsAt(bytes, start, field)) return undefined;
  if (colonAt === end) return { start: end, end };
  if (bytes[colonAt] !== colon) return undefined;
  return { start: colonAt + (colonAt + 1 < end && bytes[colonAt + 1] === space ? 2 : 1), end };
}

function standsAt(bytes: Buffer, start: number, text: Buffer): boolean {
  for (let at = 0; at < text.length; at += 1) if (bytes[start + at] !== text[at]) return false;
  return true;
}

/** The value of a `type` that comes first in an object and has no escapes: so providers write it. */
function leadingType(data: Buffer): string | undefined {
  const objectStart = skipSpace(data, 0);
  const keyStart = skipSpace(data, objectStart + 1);
  const keyEnd = keyStart + typeKey.length;
  if (data[objectStart] !== openBrace || !standsAt(data, keyStart, typeKey)) return undefined;
  const colonAt = skipSpace(data, keyEnd);
  const start = skipSpace(data, colonAt + 1);
  if (data[colonAt] !== colon || data[start] !== quote) return undefined;
  const type = data.toString('latin1', start + 1, data.indexOf(quote, start + 1));
  return plainType.test(type) ? type : undefined;
}

const typeKey = Buffer.from('"type"');
const plainType = /^[\w.-]+$/;

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === space || bytes[at] === 0x0a || bytes[at] === 0x09) at += 1;
  return at;
}

const colon = 0x3a;
const space = 0x20;
const quote = 0x22;
const openBrace = 0x7b;
