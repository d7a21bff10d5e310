import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ExecuteResponse, ResponseHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { ErrorDialect } from '../errors/render-error.ts';
import { writeHead } from '../http/respond.ts';
import { ResponseProgress, type SeenResponse } from './response-progress.ts';

export interface AnswerWriterOptions {
  readonly lease: Lease;
  readonly response: ServerResponse;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  readonly dialect: ErrorDialect;
  /** A comment is sent on an event stream that was silent for so long. */
  readonly heartbeatMs: number;
}

/** Writes an answer's frames to its client, no faster than the client reads. */
export class AnswerWriter implements Disposable {
  readonly #options: AnswerWriterOptions;
  #head: ResponseHead | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  /** Only of a Responses stream. */
  #progress: ResponseProgress | undefined;
  /** The last bytes that were written. */
  #tail = Buffer.alloc(0);

  constructor(options: AnswerWriterOptions) {
    this.#options = options;
  }

  /** Undefined while it has not been written. */
  get head(): ResponseHead | undefined {
    return this.#head;
  }

  /** True when an event may follow: in an event stream, and not within an event. */
  get isBetweenEvents(): boolean {
    const isEventStream = this.#head?.headers['content-type']?.startsWith('text/event-stream') ?? false;
    return isEventStream && (this.#tail.length === 0 || eventEnd.test(this.#tail.toString('latin1')));
  }

  /** What the client has of a Responses stream. */
  get seenResponse(): SeenResponse | undefined {
    const seen = this.#progress?.seen;
    const { lease } = this.#options;
    return seen && { ...seen, id: seen.id ?? (this.#head?.answerId || undefined), model: seen.model ?? lease.model };
  }

  /** Resolves when the client can take more. Throws when it leaves before. */
  async write({ head, body }: ExecuteResponse): Promise<void> {
    const { response, signal } = this.#options;
    if (head !== undefined) this.#begin(head);
    if (body.length === 0) return;
    this.#heartbeat?.refresh();
    this.#progress?.onBytes(body);
    this.#tail = Buffer.concat([this.#tail, body.subarray(-eventEndBytes)]).subarray(-eventEndBytes);
    if (!response.write(body)) await once(response, 'drain', { signal });
  }

  /** Writes the last frame of a whole answer. One that is here in one piece is sent with its length. */
  end({ head, body }: ExecuteResponse): void {
    const { response } = this.#options;
    if (this.#head === undefined) {
      const headers = { 'content-length': body.length, ...this.#headersOf(head) };
      writeHead(response, head?.status ?? 200, headers);
    }
    response.end(body);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#heartbeat);
  }

  #begin(head: ResponseHead): void {
    const { response, dialect, heartbeatMs } = this.#options;
    writeHead(response, head.status, this.#headersOf(head));
    this.#head = head;
    // Messages streams have pings of their own.
    if (!this.isBetweenEvents || dialect === 'messages') return;
    if (dialect === 'responses') this.#progress = new ResponseProgress();
    this.#heartbeat = setInterval(() => {
      if (this.isBetweenEvents && !response.writableNeedDrain) response.write(': keep-alive\n\n');
    }, heartbeatMs).unref();
  }

  #headersOf(head: ResponseHead | undefined): Readonly<Record<string, string>> {
    const { provider, model } = this.#options.lease;
    return { 'x-gateway-provider': headerSafe(provider), 'x-gateway-model': headerSafe(model), ...head?.headers };
  }
}

/** A blank line. */
const eventEnd = /(?:\r\n\r\n|\n\n|\r\r)$/;
const eventEndBytes = 4;

/** Header values come from configuration and providers; what HTTP does not allow in them is left out. */
function headerSafe(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, '');
}
