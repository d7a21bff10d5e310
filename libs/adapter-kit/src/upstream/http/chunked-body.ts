import { malformed } from './response-head.ts';

/**
 * Takes the transfer coding off a body, whatever pieces it comes in. What one piece has of it is joined in place, so that it
 * is told at once, as bytes that came together. Extensions and trailers are passed over, so many of them as are allowed.
 * @see RFC 9112, section 7.1
 */
export class ChunkedBody {
  #phase: Phase = 'size';
  /** Digits of the size so far. */
  #digits = 0;
  /** The size of the chunk, or what is still to come of it. */
  #left = 0;
  #passedOver = 0;
  #isWhole = false;

  get isWhole(): boolean {
    return this.#isWhole;
  }

  /**
   * Moves what `bytes` have of the body, from `start` on, together. Throws UpstreamError for what is no proper coding;
   * `taken` has then what came before it.
   */
  read(bytes: Buffer, start: number, taken: Taken): void {
    let at = start;
    taken.from = start;
    taken.to = start;
    while (at < bytes.length && !this.#isWhole) {
      if (this.#phase === 'data') at = this.#onData(bytes, at, taken);
      else this.#onByte(bytes[at++] ?? 0);
    }
    taken.next = at;
  }

  #onData(bytes: Buffer, at: number, taken: Taken): number {
    const length = Math.min(this.#left, bytes.length - at);
    if (taken.from === taken.to) {
      taken.from = at;
      taken.to = at;
    } else {
      bytes.copyWithin(taken.to, at, at + length);
    }
    taken.to += length;
    this.#left -= length;
    if (this.#left === 0) this.#phase = 'dataCr';
    return at + length;
  }

  #onByte(byte: number): void {
    switch (this.#phase) {
      case 'size':
        return this.#onSize(byte);
      case 'extension':
        return this.#onPassedOver(byte, 'sizeLf');
      case 'sizeLf':
        return this.#onSizeEnd(byte);
      case 'dataCr':
        return this.#expect(byte, cr, 'dataLf');
      case 'dataLf':
        return this.#expect(byte, lf, 'size');
      case 'trailerStart':
        return byte === cr ? this.#enter('lastLf') : this.#onPassedOver(byte, 'trailerLf');
      case 'trailer':
        return this.#onPassedOver(byte, 'trailerLf');
      case 'trailerLf':
        return this.#expect(byte, lf, 'trailerStart');
      case 'lastLf':
        this.#expect(byte, lf, 'size');
        this.#isWhole = true;
        return;
    }
  }

  #onSize(byte: number): void {
    const digit = digitOf(byte);
    if (digit >= 0) {
      this.#digits += 1;
      if (this.#digits > maxDigits) throw malformed('a chunk whose size is too long');
      this.#left = this.#left * 16 + digit;
      return;
    }
    if (this.#digits === 0) throw malformed('a chunk without a size');
    if (byte === cr) this.#enter('sizeLf');
    else if (byte === semicolon) this.#enter('extension');
    else throw malformed('a chunk whose size is no number');
  }

  #onSizeEnd(byte: number): void {
    this.#expect(byte, lf, this.#left === 0 ? 'trailerStart' : 'data');
    this.#digits = 0;
  }

  #onPassedOver(byte: number, afterCr: 'sizeLf' | 'trailerLf'): void {
    this.#passedOver += 1;
    if (this.#passedOver > maxPassedOverBytes) throw malformed('more extensions and trailers than are passed over');
    if (byte === cr) return this.#enter(afterCr);
    if (byte < 0x20 && byte !== tab) throw malformed('a control character in an extension or a trailer');
    if (afterCr === 'trailerLf') this.#enter('trailer');
  }

  #expect(byte: number, expected: number, next: Phase): void {
    if (byte !== expected) throw malformed('a chunk that does not end where it says');
    this.#enter(next);
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
  }
}

/** What of some bytes is body: `from` up to `to`. The bytes from `next` on are none of the response's. */
export interface Taken {
  from: number;
  to: number;
  next: number;
}

type Phase =
  | 'size'
  | 'extension'
  | 'sizeLf'
  | 'data'
  | 'dataCr'
  | 'dataLf'
  | 'trailerStart'
  | 'trailer'
  | 'trailerLf'
  | 'lastLf';

/** -1 when it is none. */
function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** Sizes of so many digits are counted exactly. */
const maxDigits = 13;
const maxPassedOverBytes = 16 * 1024;
const [tab, lf, cr, semicolon] = [0x09, 0x0a, 0x0d, 0x3b];
