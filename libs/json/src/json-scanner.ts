import { GatewayError } from '@gateway/errors';
import { endOfPlain, isShortEscape, Utf8Check } from './string-bytes.ts';
import { TrackedKeys } from './tracked-keys.ts';

export interface ScannerOptions {
  /** Deepest nesting of arrays and objects; default 256. */
  readonly maxDepth?: number;
  /** Most values and keys in the whole text; default 250 000. The cost of parsing follows this number, not the bytes. */
  readonly maxTokens?: number;
  /** Most members of the top-level object; default 10 000. The position of each is kept. */
  readonly maxMembers?: number;
  /** A key whose positions are kept, see `trackedKeyEnds`. Of ASCII characters, and found where it is written without escapes. */
  readonly trackedKey?: string | undefined;
  /** Keeps the elements of a top-level array in place of the members of an object. */
  readonly ofArray?: boolean;
}

/**
 * One member of the top-level object as byte offsets: `[keyStart, keyEnd)` and `[valueStart, valueEnd)`. Of an array it is an
 * element, and the key says nothing.
 */
export interface JsonMember {
  /** Of the key with its quotes. */
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** What the scanner expects next, or is within. */
const State = {
  value: 0,
  firstElementOrEnd: 1,
  firstKeyOrEnd: 2,
  key: 3,
  colon: 4,
  commaOrEnd: 5,
  string: 6,
  escape: 7,
  unicode: 8,
  minus: 9,
  zero: 10,
  integer: 11,
  point: 12,
  fraction: 13,
  exponent: 14,
  exponentSign: 15,
  exponentDigits: 16,
  literal: 17,
  done: 18,
} as const;
type State = (typeof State)[keyof typeof State];

/**
 * Checks the grammar of a JSON text while its bytes arrive, and keeps the positions of the members of its top-level object.
 * Memory does not grow with the text: no value is built.
 *
 * Throws `invalid_json` as soon as the text can't be JSON in UTF-8, `invalid_request` when it is too deep or has too many
 * values.
 */
export class JsonScanner {
  readonly members: JsonMember[] = [];
  /** Whether the text's value is an object; certain once it has begun. */
  topLevelIsObject = false;
  readonly #maxDepth: number;
  readonly #maxTokens: number;
  readonly #maxMembers: number;
  readonly #tracked: TrackedKeys | undefined;
  readonly #ofArray: boolean;
  /** By depth: whether the open container is an object, else an array. */
  readonly #isObject: boolean[] = [];
  #depth = 0;
  #tokens = 0;
  #state: State = State.value;
  /** Offset of the first byte of the current chunk in the whole text. */
  #base = 0;
  #stringIsKey = false;
  #unicodeLeft = 0;
  #literal = '';
  #literalAt = 0;
  /** Of the last key at any depth. */
  #latestKeyStart = 0;
  #keyStart = 0;
  #keyEnd = 0;
  #valueStart = 0;
  readonly #utf8 = new Utf8Check();

  constructor(options: ScannerOptions = {}) {
    const { maxDepth = 256, maxTokens = 250_000, maxMembers = 10_000, trackedKey, ofArray = false } = options;
    this.#tracked = trackedKey === undefined ? undefined : new TrackedKeys(trackedKey);
    this.#ofArray = ofArray;
    this.#maxDepth = maxDepth;
    this.#maxTokens = maxTokens;
    this.#maxMembers = maxMembers;
  }

  /** The offsets at which the tracked key ends, at any depth: the last ones, in the order of the text. */
  get trackedKeyEnds(): readonly number[] {
    return this.#tracked?.ends ?? [];
  }

  push(bytes: Uint8Array): void {
    this.#tracked?.onChunk(bytes, this.#base);
    const text = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === State.string) at = this.#skipString(bytes, text, at);
      else this.#step(bytes[at] ?? 0, this.#base + at++);
    }
    this.#base += bytes.length;
    if (!this.#utf8.push(bytes)) throw noUtf8();
  }

  /** The text has ended. Throws when it is incomplete. */
  end(): void {
    if (!this.#utf8.isWhole) throw noUtf8();
    if (mayEndNumber.has(this.#state)) this.#endValue(this.#base);
    if (this.#state !== State.done) throw invalidJson(this.#base);
  }

  /** Moves over characters of a string to the byte after its end, a longer escape, or the end of the chunk. */
  #skipString(bytes: Uint8Array, text: DataView, from: number): number {
    let at = endOfPlain(text, from);
    // Texts are full of short escapes; any other, or one that the end of the chunk cuts, is taken byte by byte.
    while (bytes[at] === backslash && isShortEscape[bytes[at + 1] ?? 0] === 1) at = endOfPlain(text, at + 2);
    if (at === bytes.length) return at;
    const byte = bytes[at];
    if (byte === quote) this.#endString(this.#base + at + 1);
    else if (byte === backslash) this.#state = State.escape;
    else throw invalidJson(this.#base + at);
    return at + 1;
  }

  #step(byte: number, offset: number): void {
    if (isWhitespace(byte) && this.#skipsWhitespace(offset)) return;
    switch (this.#state) {
      case State.value:
        return this.#beginValue(byte, offset);
      case State.firstElementOrEnd:
        return byte === 0x5d ? this.#close(offset) : this.#beginValue(byte, offset);
      case State.firstKeyOrEnd:
        return byte === 0x7d ? this.#close(offset) : this.#beginKey(byte, offset);
      case State.key:
        return this.#beginKey(byte, offset);
      case State.colon:
        return this.#expect(byte === 0x3a, State.value, offset);
      case State.commaOrEnd:
        return this.#afterValue(byte, offset);
      case State.escape:
        return this.#escape(byte, offset);
      case State.unicode:
        return this.#unicode(byte, offset);
      case State.literal:
        return this.#inLiteral(byte, offset);
      case State.done:
        throw invalidJson(offset);
      default:
        return this.#inNumber(byte, offset);
    }
  }

  /** Whitespace between tokens is skipped; after a number it ends the number; inside other tokens it is an error. */
  #skipsWhitespace(offset: number): boolean {
    if (mayEndNumber.has(this.#state)) this.#endValue(offset);
    return this.#state <= State.commaOrEnd || this.#state === State.done;
  }

  #beginValue(byte: number, offset: number): void {
    this.#countToken();
    if (this.#depth === 1) this.#valueStart = offset;
    if (byte === quote) {
      this.#stringIsKey = false;
      this.#state = State.string;
    } else if (byte === openBrace) this.#open(true);
    else if (byte === openBracket) this.#open(false);
    else if (byte === 0x2d) this.#state = State.minus;
    else if (byte === 0x30) this.#state = State.zero;
    else if (isDigit(byte)) this.#state = State.integer;
    else this.#beginLiteral(byte, offset);
  }

  #beginKey(byte: number, offset: number): void {
    this.#countToken();
    this.#stringIsKey = true;
    this.#latestKeyStart = offset;
    if (this.#depth === 1) this.#keyStart = offset;
    this.#expect(byte === quote, State.string, offset);
  }

  #open(isObject: boolean): void {
    if (this.#depth === 0) this.topLevelIsObject = isObject;
    if (this.#depth === this.#maxDepth) {
      throw new GatewayError('invalid_request', `The body is nested more than ${this.#maxDepth} levels deep.`);
    }
    this.#depth += 1;
    this.#isObject[this.#depth] = isObject;
    this.#state = isObject ? State.firstKeyOrEnd : State.firstElementOrEnd;
  }

  #close(offset: number): void {
    this.#depth -= 1;
    this.#endValue(offset + 1);
  }

  #endString(end: number): void {
    if (!this.#stringIsKey) return this.#endValue(end);
    if (this.#depth === 1) this.#keyEnd = end;
    this.#tracked?.onKey(this.#latestKeyStart, end);
    this.#state = State.colon;
  }

  #endValue(end: number): void {
    if (this.#depth === 0) {
      this.#state = State.done;
      return;
    }
    if (this.#depth === 1 && this.topLevelIsObject !== this.#ofArray) this.#addMember(end);
    this.#state = State.commaOrEnd;
  }

  #addMember(valueEnd: number): void {
    if (this.members.length === this.#maxMembers) {
      throw new GatewayError('invalid_request', `The body has more than ${this.#maxMembers} members.`);
    }
    this.members.push({
      keyStart: this.#keyStart,
      keyEnd: this.#keyEnd,
      valueStart: this.#valueStart,
      valueEnd,
    });
  }

  #afterValue(byte: number, offset: number): void {
    const inObject = this.#isObject[this.#depth] === true;
    if (byte === 0x2c) this.#state = inObject ? State.key : State.value;
    else if (byte === (inObject ? 0x7d : 0x5d)) this.#close(offset);
    else throw invalidJson(offset);
  }

  #escape(byte: number, offset: number): void {
    if (byte === 0x75) {
      this.#unicodeLeft = 4;
      this.#state = State.unicode;
      return;
    }
    this.#expect(isShortEscape[byte] === 1, State.string, offset);
  }

  #unicode(byte: number, offset: number): void {
    if (!isHexDigit(byte)) throw invalidJson(offset);
    this.#unicodeLeft -= 1;
    if (this.#unicodeLeft === 0) this.#state = State.string;
  }

  #beginLiteral(byte: number, offset: number): void {
    const literal = literals[byte];
    if (literal === undefined) throw invalidJson(offset);
    this.#literal = literal;
    this.#literalAt = 1;
    this.#state = State.literal;
  }

  #inLiteral(byte: number, offset: number): void {
    if (byte !== this.#literal.charCodeAt(this.#literalAt)) throw invalidJson(offset);
    this.#literalAt += 1;
    if (this.#literalAt === this.#literal.length) this.#endValue(offset + 1);
  }

  #inNumber(byte: number, offset: number): void {
    const next = numberStates[this.#state]?.[kindInNumber(byte)];
    if (next !== undefined) {
      this.#state = next;
      return;
    }
    if (!mayEndNumber.has(this.#state)) throw invalidJson(offset);
    this.#endValue(offset);
    this.#step(byte, offset);
  }

  #expect(met: boolean, next: State, offset: number): void {
    if (!met) throw invalidJson(offset);
    this.#state = next;
  }

  #countToken(): void {
    this.#tokens += 1;
    if (this.#tokens > this.#maxTokens) {
      throw new GatewayError('invalid_request', `The body has more than ${this.#maxTokens} values.`);
    }
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const openBracket = 0x5b;
const literals: Readonly<Record<number, string>> = { 116: 'true', 102: 'false', 110: 'null' };

type NumberPart = 'zero' | 'digit' | 'point' | 'e' | 'sign' | 'other';

/** The state after one more byte of a number; absent when no such byte may follow. */
const numberStates: Readonly<Partial<Record<State, Partial<Record<NumberPart, State>>>>> = {
  [State.minus]: { zero: State.zero, digit: State.integer },
  [State.zero]: { point: State.point, e: State.exponent },
  [State.integer]: { zero: State.integer, digit: State.integer, point: State.point, e: State.exponent },
  [State.point]: { zero: State.fraction, digit: State.fraction },
  [State.fraction]: { zero: State.fraction, digit: State.fraction, e: State.exponent },
  [State.exponent]: { zero: State.exponentDigits, digit: State.exponentDigits, sign: State.exponentSign },
  [State.exponentSign]: { zero: State.exponentDigits, digit: State.exponentDigits },
  [State.exponentDigits]: { zero: State.exponentDigits, digit: State.exponentDigits },
};

const mayEndNumber: ReadonlySet<State> = new Set<State>([
  State.zero,
  State.integer,
  State.fraction,
  State.exponentDigits,
]);

function kindInNumber(byte: number): NumberPart {
  if (byte === 0x30) return 'zero';
  if (isDigit(byte)) return 'digit';
  if (byte === 0x2e) return 'point';
  if (byte === 0x65 || byte === 0x45) return 'e';
  return byte === 0x2b || byte === 0x2d ? 'sign' : 'other';
}

function invalidJson(offset: number): GatewayError {
  return new GatewayError('invalid_json', `The body is not valid JSON (at byte ${offset}).`);
}

function noUtf8(): GatewayError {
  return new GatewayError('invalid_json', 'The body is not valid UTF-8.');
}

function isWhitespace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isHexDigit(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
