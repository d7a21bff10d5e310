import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from './json-value.ts';
import type { ProviderError, ProviderFormat } from './provider-format.ts';
import type { RequestRecord } from './request-record.ts';
import { endResponse } from './streaming/write-stream.ts';

/** One request and its answer on the wire, with the record that is kept of them. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly format: ProviderFormat;
  readonly path: string;
  readonly record: RequestRecord;
  readonly #abort = new AbortController();

  constructor(parts: Pick<Exchange, 'request' | 'response' | 'format' | 'path' | 'record'>) {
    this.request = parts.request;
    this.response = parts.response;
    this.format = parts.format;
    this.path = parts.path;
    this.record = parts.record;
    this.response.on('close', () => this.#onClose());
    // A connection that breaks is noticed by its closing; the error itself says nothing more.
    this.response.on('error', () => {});
  }

  /** Aborted as soon as the client has left. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get requestId(): string {
    return this.record.requestId;
  }

  /** Fixes status and headers; they travel with the first bytes of the body. */
  start(status: number, headers: Readonly<Record<string, string>>): void {
    this.record.change({ status });
    this.response.writeHead(status, { ...this.format.headers(this.requestId), ...headers });
  }

  async sendJson(status: number, body: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.send(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
  }

  async sendError(error: ProviderError, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.sendJson(error.status, this.format.errorBody(error, this.requestId), headers);
  }

  async send(status: number, body: string, headers: Readonly<Record<string, string>>): Promise<void> {
    this.start(status, { 'content-length': `${Buffer.byteLength(body)}`, ...headers });
    this.record.sending();
    await endResponse(this.response, this.signal, body);
  }

  /** Cuts the connection with a reset. */
  reset(): void {
    this.record.sending();
    this.record.end('faulted');
    this.response.socket?.resetAndDestroy();
  }

  /** The end of an answer that was sent whole is recorded by whoever sent it. */
  #onClose(): void {
    if (this.response.writableFinished) return;
    this.record.end('cancelled');
    this.#abort.abort();
  }
}
