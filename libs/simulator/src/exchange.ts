import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type ProviderError, ProviderRefusal } from './provider-request.ts';
import type { BilledTokens, RequestRecord } from './record.ts';
import type { Answer, SimulatedFormat } from './simulated-format.ts';

/** One request and its answer on the connection, with their record. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly format: SimulatedFormat;
  readonly record: RequestRecord;
  /** True when its connection has carried another request before. */
  readonly isReused: boolean;
  readonly #abort = new AbortController();

  constructor(request: IncomingMessage, response: ServerResponse, format: SimulatedFormat, record: RequestRecord) {
    this.request = request;
    this.response = response;
    this.format = format;
    this.record = record;
    this.isReused = usedSockets.has(request.socket);
    usedSockets.add(request.socket);
    response.on('close', () => this.#onClose());
    // A broken connection also emits 'close'; the error adds nothing.
    response.on('error', () => {});
  }

  /** Aborted as soon as the client disconnects. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Sets status and headers, which are sent with the first bytes of the body. */
  start(status: number, headers: Readonly<Record<string, string>>): void {
    const { state } = this.record;
    state.status = status;
    this.response.writeHead(status, { ...this.format.headers(state.requestId), ...headers });
  }

  async sendJson(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.send(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
  }

  async sendError(error: ProviderError, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.sendJson(error.status, this.format.errorBody(error, this.record.state.requestId), headers);
  }

  /** Encodes and sends a text as it is, or any other value as JSON. */
  async sendEncoded(
    status: number,
    body: unknown,
    encoding: keyof typeof encoders,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const bytes = encoders[encoding](typeof body === 'string' ? body : JSON.stringify(body ?? {}));
    const encoded = { 'content-encoding': encoding, 'content-length': `${bytes.length}` };
    this.start(status, { 'content-type': 'application/json', ...encoded, ...headers });
    this.record.sending();
    await this.finish(bytes);
  }

  async send(status: number, body: string, headers: Readonly<Record<string, string>>): Promise<void> {
    this.start(status, { 'content-length': `${Buffer.byteLength(body)}`, ...headers });
    this.record.sending();
    await this.finish(body);
  }

  /** Ends the answer and waits until the connection has taken all of it. */
  async finish(body?: string | Buffer): Promise<void> {
    this.signal.throwIfAborted();
    const finished = once(this.response, 'finish', { signal: this.signal });
    this.response.end(body);
    await finished;
  }

  /** Input is billed when the answer starts, output as it is sent. */
  bill(answer: Answer, output: Pick<BilledTokens, 'outputTokens' | 'reasoningTokens'>): void {
    const { outputTokens, reasoningTokens } = output;
    const { inputTokens } = answer.conversation;
    this.record.bill({ inputTokens, cachedTokens: answer.plan.cachedTokens, outputTokens, reasoningTokens });
  }

  /** Cuts the connection with a reset. */
  async reset(): Promise<never> {
    this.record.sending();
    this.record.end('faulted');
    this.response.socket?.resetAndDestroy();
    return this.untilAborted();
  }

  /** Closes the connection normally, without sending a byte. */
  async close(): Promise<never> {
    this.record.sending();
    this.record.end('faulted');
    this.response.socket?.end();
    return this.untilAborted();
  }

  /** Waits for the connection to close, and then always throws. */
  async untilAborted(): Promise<never> {
    if (!this.signal.aborted) await once(this.signal, 'abort');
    throw this.signal.reason;
  }

  /** The sender itself records the end of a complete answer. */
  #onClose(): void {
    if (this.response.writableFinished) return;
    this.record.end('cancelled');
    this.#abort.abort();
  }
}

const usedSockets = new WeakSet<Socket>();

const encoders = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync } as const;

/**
 * Reads a whole request body.
 *
 * @throws {ProviderRefusal} 413 when it exceeds the provider's limit, 415 when it is compressed.
 */
export async function readBody(request: IncomingMessage, maximumBytes: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new ProviderRefusal({ status: 415, message: `Unsupported content-encoding: ${encoding}` });
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > maximumBytes) {
      throw new ProviderRefusal({ status: 413, message: `Request exceeds the maximum size of ${maximumBytes} bytes` });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
