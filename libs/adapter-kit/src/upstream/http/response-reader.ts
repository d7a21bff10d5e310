import { ChunkedBody, type Taken } from './chunked-body.ts';
import type { ResponseListener } from './http-exchange.ts';
import { malformed, parseResponseHead, type ResponseHead } from './response-head.ts';

/** Reads the responses of a connection, one after the other, in whatever pieces they come. */
export class ResponseReader {
  /** Undefined while no response is awaited, or wanted. */
  #listener: Pick<ResponseListener, 'onResponseHead' | 'onResponseBytes'> | undefined;
  /** What has come of a head. */
  #headStart: Buffer = nothing;
  #interimHeads = 0;
  #head: ResponseHead | undefined;
  /** What is still to come of a body with a length. */
  #left = 0;
  #chunks: ChunkedBody | undefined;
  #hasExcess = false;

  /** From here on a response is awaited. */
  begin(listener: Pick<ResponseListener, 'onResponseHead' | 'onResponseBytes'>): void {
    this.#listener = listener;
    this.#headStart = nothing;
    this.#interimHeads = 0;
    this.#head = undefined;
    this.#chunks = undefined;
    this.#hasExcess = false;
  }

  /** Nothing more is told. */
  stop(): void {
    this.#listener = undefined;
    this.#headStart = nothing;
  }

  /** True when a request may follow the last response, which was whole. */
  get keepsOpen(): boolean {
    return this.#head?.keepsOpen === true && !this.#hasExcess;
  }

  /** How long the provider keeps an idle connection, where it told. */
  get idleMs(): number | undefined {
    return this.#head?.idleMs;
  }

  /**
   * Takes bytes over: they may be changed, and are told on. True once the response is whole. Throws UpstreamError when it
   * can't be understood, after telling what came before that.
   */
  read(bytes: Buffer): boolean {
    if (this.#head !== undefined) return this.#onBody(this.#head, bytes, 0);
    const all = this.#headStart.length === 0 ? bytes : Buffer.concat([this.#headStart, bytes]);
    return this.#onHeadBytes(all, Math.max(0, this.#headStart.length - emptyLine.length));
  }

  /** The connection has ended. True when that ends the response; throws UpstreamError when it breaks it off. */
  end(): boolean {
    if (this.#head?.framing.kind === 'untilClose') return true;
    throw malformed('it ended early');
  }

  #onHeadBytes(all: Buffer, searchFrom: number): boolean {
    let start = 0;
    let end = all.indexOf(emptyLine, searchFrom, 'latin1');
    while (end >= 0 && end - start <= maxHeadBytes) {
      const head = parseResponseHead(all.toString('latin1', start, end));
      start = end + emptyLine.length;
      if (head.status >= 200) return this.#onHead(head, all, start);
      this.#onInterimHead(head);
      end = all.indexOf(emptyLine, start, 'latin1');
    }
    if (all.length - start > maxHeadBytes) throw malformed('its head is too large');
    this.#headStart = all.subarray(start);
    return false;
  }

  /** Says that the response is still to come. An upgrade is nothing that was asked for. */
  #onInterimHead({ status }: ResponseHead): void {
    this.#interimHeads += 1;
    if (status === 101 || this.#interimHeads > maxInterimHeads) throw malformed('an upgrade, or too much before it');
  }

  #onHead(head: ResponseHead, bytes: Buffer, bodyStart: number): boolean {
    this.#head = head;
    this.#headStart = nothing;
    const { framing } = head;
    if (framing.kind === 'length') this.#left = framing.bytes;
    else if (framing.kind === 'chunked') this.#chunks = new ChunkedBody();
    this.#listener?.onResponseHead(head.status, head.headers);
    return this.#onBody(head, bytes, bodyStart);
  }

  #onBody({ framing }: ResponseHead, bytes: Buffer, start: number): boolean {
    switch (framing.kind) {
      case 'none':
        return this.#end(start < bytes.length);
      case 'length':
        return this.#onCounted(bytes, start);
      case 'chunked':
        return this.#onChunked(bytes, start);
      case 'untilClose':
        this.#tell(bytes, start, bytes.length);
        return false;
    }
  }

  #onCounted(bytes: Buffer, start: number): boolean {
    const end = Math.min(bytes.length, start + this.#left);
    this.#left -= end - start;
    this.#tell(bytes, start, end);
    return this.#left === 0 && this.#end(end < bytes.length);
  }

  #onChunked(bytes: Buffer, start: number): boolean {
    const chunks = this.#chunks;
    if (chunks === undefined) return false;
    try {
      chunks.read(bytes, start, taken);
    } finally {
      this.#tell(bytes, taken.from, taken.to);
    }
    return chunks.isWhole && this.#end(taken.next < bytes.length);
  }

  #tell(bytes: Buffer, start: number, end: number): void {
    if (start < end)
      this.#listener?.onResponseBytes(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
  }

  /** What follows a response before the next request is nobody's. */
  #end(hasExcess: boolean): true {
    this.#hasExcess = hasExcess;
    this.#listener = undefined;
    return true;
  }
}

const emptyLine = '\r\n\r\n';
const nothing = Buffer.alloc(0);
const maxHeadBytes = 32 * 1024;
const maxInterimHeads = 100;

/** Used within one reading at a time. */
const taken: Taken = { from: 0, to: 0, next: 0 };
