import type { ResponseHeaders, ResponseListener } from '../upstream/http/http-exchange.ts';
import type { UpstreamError } from '../upstream/upstream-error.ts';

/** Keeps what is told of a response. */
export class RecordedResponse implements ResponseListener {
  status: number | undefined;
  headers: ResponseHeaders = {};
  readonly pieces: Buffer[] = [];
  error: UpstreamError | undefined;
  isWhole = false;
  /** Told something after the end, or before the head. */
  isOutOfOrder = false;
  readonly #over = Promise.withResolvers<this>();
  readonly #begun = Promise.withResolvers<this>();
  /** Called whenever something is told. */
  onTold: () => void = () => undefined;

  get body(): string {
    return Buffer.concat(this.pieces).toString('latin1');
  }

  get isOver(): boolean {
    return this.isWhole || this.error !== undefined;
  }

  /** Once its head or its end has come. */
  begun(): Promise<this> {
    return this.#begun.promise;
  }

  over(): Promise<this> {
    return this.#over.promise;
  }

  onRequestSent(): void {}

  onResponseHead(status: number, headers: ResponseHeaders): void {
    this.isOutOfOrder ||= this.status !== undefined || this.isOver;
    this.status = status;
    this.headers = headers;
    this.#begun.resolve(this);
    this.onTold();
  }

  onResponseBytes(bytes: Buffer): void {
    this.isOutOfOrder ||= this.status === undefined || this.isOver;
    this.pieces.push(bytes);
    this.onTold();
  }

  onResponseEnd(): void {
    this.isOutOfOrder ||= this.status === undefined || this.isOver;
    this.isWhole = true;
    this.#end();
  }

  onResponseError(error: UpstreamError): void {
    this.isOutOfOrder ||= this.isOver;
    this.error = error;
    this.#end();
  }

  #end(): void {
    this.#begun.resolve(this);
    this.#over.resolve(this);
    this.onTold();
  }
}
