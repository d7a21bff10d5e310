import { GatewayError } from '@gateway/errors';
import type { JsonMember } from './json-member.ts';
import { isScalar, mayBecomeScalar } from './json-scalars.ts';
import {
  endOfDigits,
  endOfPlain,
  endOfWhitespace,
  escapeLength,
  isDigit,
  isHexDigit,
  isShortEscape,
  isWhitespace,
  Utf8Check,
} from './string-bytes.ts';
import { type ByteRange, TrackedString, type TrackedStringOptions } from './tracked-string.ts';

export interface ScannerOptions {
  /** The maximum depth of nested arrays and objects; default 256. */
  readonly maxDepth?: number;
  /**
   * The maximum number of values and keys in the whole text; default 250,000. The cost of parsing
   * depends on this number, not on the bytes.
   */
  readonly maxTokens?: number;
  /**
   * The maximum number of members of the top-level object; default 10,000. The position of each is
   * kept.
   */
  readonly maxMembers?: number;
  /** Which strings to look for; see `trackedString`. */
  readonly tracked?: TrackedStringOptions | undefined;
  /** Keeps the elements of a top-level array instead of the members of an object. */
  readonly ofArray?: boolean;
}

/** What the scanner expects next, or is inside of. */
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
  scalar: 9,
  done: 10,
} as const;
type State = (typeof State)[keyof typeof State];

/**
 * Validates the grammar of a JSON text while its bytes arrive, and keeps the positions of its
 * top-level members. Memory does not grow with the text, because no value is built.
 *
 * Throws `invalid_json` as soon as the text can't be JSON in UTF-8 or has too much whitespace in a
 * row, and `invalid_request` when it is nested too deeply or has too many values.
 */
export class JsonScanner {
  readonly members: JsonMember[] = [];
  /** Whether the text's value is an object; reliable once the value has started. */
  topLevelIsObject = false;
  readonly #maxDepth: number;
  readonly #maxTokens: number;
  readonly #maxMembers: number;
  readonly #tracked: TrackedString | undefined;
  readonly #ofArray: boolean;
  /** By depth: true if the open container is an object, false for an array. */
  readonly #isObject: boolean[] = [];
  #depth = 0;
  #tokens = 0;
  #state: State = State.value;
  /** Offset of the first byte of the current chunk in the whole text. */
  #base = 0;
  /** Offset after the last byte that is not whitespace between tokens. */
  #tokenEnd = 0;
  #stringIsKey = false;
  #unicodeLeft = 0;
  /**
   * The part of a number, true, false or null seen so far. It keeps the first two digits of each
   * run, because more do not change the result.
   */
  #scalar = '';
  #digitsInRow = 0;
  /** The start of the last key at any depth. */
  #latestKeyStart = 0;
  #keyStart = 0;
  #keyEnd = 0;
  #valueStart = 0;
  readonly #utf8 = new Utf8Check();

  constructor(options: ScannerOptions = {}) {
    const { maxDepth = 256, maxTokens = 250_000, maxMembers = 10_000, tracked, ofArray = false } = options;
    this.#tracked = tracked === undefined ? undefined : new TrackedString(tracked);
    this.#ofArray = ofArray;
    this.#maxDepth = maxDepth;
    this.#maxTokens = maxTokens;
    this.#maxMembers = maxMembers;
  }

  /** Where the last tracked string so far is, without its quotes; undefined when there is none. */
  get trackedString(): ByteRange | undefined {
    return this.#tracked?.latest;
  }

  /** The number of values and keys so far. */
  get tokens(): number {
    return this.#tokens;
  }

  push(bytes: Uint8Array): void {
    this.#tracked?.onChunk(bytes, this.#base);
    const text = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === State.string) at = this.#skipString(bytes, text, at);
      else {
        this.#step(bytes[at] ?? 0, this.#base + at++);
        at = this.#endOfRun(text, at);
      }
    }
    this.#base += bytes.length;
    if (!this.#utf8.push(bytes)) throw noUtf8();
  }

  /** Ends the text. Throws when it is incomplete. */
  end(): void {
    if (!this.#utf8.isWhole) throw noUtf8();
    if (this.#state === State.scalar) this.#endScalar(this.#base);
    if (this.#state !== State.done) throw invalidJson(this.#base);
  }

  /**
   * Skips bytes that do not change the state and of which a text may have many: whitespace, and
   * further digits of a number.
   */
  #endOfRun(text: DataView, from: number): number {
    if (this.#state <= State.commaOrEnd || this.#state === State.done) return this.#endOfBlanks(text, from);
    if (this.#state !== State.scalar || this.#digitsInRow <= 2) return from;
    const end = endOfDigits(text, from);
    this.#tokenEnd = this.#base + end;
    return end;
  }

  /** So much whitespace costs time, is compressed to nearly nothing, and has no use. */
  #endOfBlanks(text: DataView, from: number): number {
    const end = endOfWhitespace(text, from);
    if (this.#base + end - this.#tokenEnd > maxBlankBytes) {
      const problem = `more than ${maxBlankBytes} bytes of whitespace in a row`;
      throw new GatewayError('invalid_json', `The body has ${problem} (at byte ${this.#base + end}).`);
    }
    return end;
  }

  /**
   * Skips characters of a string, up to the byte after its closing quote, a longer escape, or the
   * end of the chunk.
   */
  #skipString(bytes: Uint8Array, text: DataView, from: number): number {
    let at = endOfPlain(text, from);
    if (bytes[at] === backslash) this.#tracked?.onEscape();
    // Texts are full of escapes. An invalid escape, or one that the end of the chunk cuts, is
    // processed byte by byte.
    for (let length = escapeLength(bytes, at); length > 0; length = escapeLength(bytes, at)) {
      at = endOfPlain(text, at + length);
    }
    if (at === bytes.length) return at;
    const byte = bytes[at];
    if (byte === quote) this.#endString(this.#base + at + 1);
    else if (byte === backslash) this.#state = State.escape;
    else throw invalidJson(this.#base + at);
    return at + 1;
  }

  #step(byte: number, offset: number): void {
    if (isWhitespace[byte] === 1 && this.#skipsWhitespace(offset)) return;
    this.#tokenEnd = offset + 1;
    switch (this.#state) {
      case State.value:
        return this.#beginValue(byte, offset);
      case State.firstElementOrEnd:
        return byte === closeBracket ? this.#close(offset) : this.#beginValue(byte, offset);
      case State.firstKeyOrEnd:
        return byte === closeBrace ? this.#close(offset) : this.#beginKey(byte, offset);
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
      case State.scalar:
        return this.#inScalar(byte, offset);
      default:
        throw invalidJson(offset);
    }
  }

  /** Whitespace between tokens is skipped and ends a scalar; inside other tokens it is an error. */
  #skipsWhitespace(offset: number): boolean {
    if (this.#state === State.scalar) this.#endScalar(offset);
    return this.#state <= State.commaOrEnd || this.#state === State.done;
  }

  #beginValue(byte: number, offset: number): void {
    this.#countToken();
    if (this.#depth === 1) this.#valueStart = offset;
    this.#tracked?.onValue(byte === quote, offset);
    if (byte === quote) {
      this.#stringIsKey = false;
      this.#state = State.string;
    } else if (byte === openBrace) this.#open(true);
    else if (byte === openBracket) this.#open(false);
    else {
      this.#scalar = '';
      this.#digitsInRow = 0;
      this.#state = State.scalar;
      this.#inScalar(byte, offset);
    }
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
    this.#tokenEnd = end;
    if (!this.#stringIsKey) {
      this.#tracked?.onStringEnd(end - 1);
      return this.#endValue(end);
    }
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
    if (byte === comma) this.#state = inObject ? State.key : State.value;
    else if (byte === (inObject ? closeBrace : closeBracket)) this.#close(offset);
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
    if (isHexDigit[byte] !== 1) throw invalidJson(offset);
    this.#unicodeLeft -= 1;
    if (this.#unicodeLeft === 0) this.#state = State.string;
  }

  #inScalar(byte: number, offset: number): void {
    if (byte === comma || byte === closeBracket || byte === closeBrace) {
      this.#endScalar(offset);
      return this.#step(byte, offset);
    }
    this.#digitsInRow = isDigit[byte] === 1 ? this.#digitsInRow + 1 : 0;
    if (this.#digitsInRow > 2) return;
    this.#scalar += String.fromCharCode(byte);
    if (!mayBecomeScalar(this.#scalar)) throw invalidJson(offset);
  }

  #endScalar(end: number): void {
    if (!isScalar(this.#scalar)) throw invalidJson(end);
    this.#endValue(end);
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
const comma = 0x2c;
const closeBrace = 0x7d;
const closeBracket = 0x5d;

const maxBlankBytes = 1024 * 1024;

function invalidJson(offset: number): GatewayError {
  return new GatewayError('invalid_json', `The body is not valid JSON (at byte ${offset}).`);
}

function noUtf8(): GatewayError {
  return new GatewayError('invalid_json', 'The body is not valid UTF-8.');
}
