import type { ServerResponse } from 'node:http';
import type { ExecuteOutcome, ExecuteResponse, ResponseHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { AnswerFlow, AnswerReader } from '../attempts/answer-flow.ts';
import type { ErrorDialect } from '../errors/error-dialect.ts';
import { writeHead } from '../http/answer-head.ts';
import type { UsageRecorder } from '../usage/usage-recorder.ts';
import { AnswerBody } from './answer-body.ts';
import type { Heartbeat, Heartbeats } from './heartbeats.ts';
import { ResponseProgress, type SeenResponse } from './response-progress.ts';

export interface Passage {
  readonly lease: Lease;
  readonly flow: Pick<AnswerFlow, 'readBy' | 'pause' | 'resume'>;
  readonly response: ServerResponse;
  readonly booking: Pick<UsageRecorder, 'onUsage'>;
  readonly dialect: ErrorDialect;
  readonly heartbeats: Heartbeats;
}

/** The last frame of an answer, of which nothing has been passed on yet. */
export interface PassageEnd {
  readonly frame: ExecuteResponse;
  readonly outcome: ExecuteOutcome;
}

/** The way of an answer's frames to the client: each is written in the turn in which it comes, but for the last. */
export class AnswerPassage implements AnswerReader, Disposable {
  readonly #passage: Passage;
  #end: PassageEnd | undefined;
  #failure: { readonly reason: unknown } | undefined;
  #waiting: PromiseWithResolvers<PassageEnd> | undefined;
  #head: ResponseHead | undefined;
  #body: AnswerBody | undefined;
  #heartbeat: Heartbeat | undefined;
  /** Only of a Responses stream. */
  #progress: ResponseProgress | undefined;
  /** The last bytes that were passed on. */
  #tail = Buffer.alloc(0);

  constructor(passage: Passage) {
    this.#passage = passage;
    passage.flow.readBy(this);
  }

  /** Undefined while it has not come. */
  get end(): PassageEnd | undefined {
    return this.#end;
  }

  /** Resolves with the last frame; rejects when the answer breaks off. */
  whenEnded(): Promise<PassageEnd> {
    this.#waiting = Promise.withResolvers();
    if (this.#end !== undefined) this.#waiting.resolve(this.#end);
    else if (this.#failure !== undefined) this.#waiting.reject(this.#failure.reason);
    return this.#waiting.promise;
  }

  /** Undefined while it has not been passed on. */
  get head(): ResponseHead | undefined {
    return this.#head;
  }

  get isEventStream(): boolean {
    return this.#head?.headers['content-type']?.startsWith('text/event-stream') ?? false;
  }

  /** False while the client has a part of an event. */
  get isBetweenEvents(): boolean {
    return this.#tail.length === 0 || eventEnd.test(this.#tail.toString('latin1'));
  }

  /** What the client has of a Responses stream. */
  get seenResponse(): SeenResponse | undefined {
    const seen = this.#progress?.seen;
    const { lease } = this.#passage;
    return seen && { ...seen, id: seen.id ?? (this.#head?.answerId || undefined), model: seen.model ?? lease.model };
  }

  onFrame(frame: ExecuteResponse): void {
    if (frame.outcome !== undefined) {
      this.#end = { frame, outcome: frame.outcome };
      return this.#waiting?.resolve(this.#end);
    }
    try {
      this.pass(frame);
    } catch (thrown) {
      this.onBrokenOff(thrown);
    }
  }

  onBrokenOff(reason: unknown): void {
    this.#failure = { reason };
    this.#waiting?.reject(reason);
  }

  /** Passes on what a frame has, whatever comes after it. */
  pass({ head, usage, body }: ExecuteResponse): void {
    if (head !== undefined) this.#begin(head);
    if (usage !== undefined) this.#passage.booking.onUsage(usage);
    if (body.length === 0) return;
    this.#heartbeat?.sent();
    this.#body?.write(body);
    this.#progress?.onBytes(body);
    this.#tail = Buffer.concat([this.#tail, body.subarray(-eventEndBytes)]).subarray(-eventEndBytes);
  }

  /** Passes on the last frame of a whole answer. One that is here in one piece need not be sent in chunks. */
  complete({ head, body }: ExecuteResponse): void {
    if (this.#body !== undefined) return this.#body.end(body);
    const { response } = this.#passage;
    writeHead(response, head?.status ?? 200, { 'content-length': body.length, ...this.#headersOf(head) });
    response.end(body);
  }

  /** Ends an event stream with an event of our own. */
  endWith(event: string): void {
    this.#body?.end(Buffer.from(event));
  }

  [Symbol.dispose](): void {
    this.#heartbeat?.[Symbol.dispose]();
  }

  #begin(head: ResponseHead): void {
    const { response, flow, dialect, heartbeats } = this.#passage;
    writeHead(response, head.status, this.#headersOf(head));
    this.#head = head;
    const body = new AnswerBody(response, flow);
    this.#body = body;
    if (!this.isEventStream || dialect === 'messages') return;
    if (dialect === 'responses') this.#progress = new ResponseProgress();
    this.#heartbeat = heartbeats.of({
      write: (comment) => {
        if (this.isBetweenEvents) body.write(Buffer.from(comment));
      },
    });
  }

  #headersOf(head: ResponseHead | undefined): Readonly<Record<string, string>> {
    const { provider, model } = this.#passage.lease;
    return { 'x-gateway-provider': headerSafe(provider), 'x-gateway-model': headerSafe(model), ...head?.headers };
  }
}

/** A blank line. */
const eventEnd = /(?:\r\n\r\n|\n\n|\r\r)$/;
const eventEndBytes = 4;

/** Header values come from configuration and providers; what HTTP does not allow in them is left out. */
function headerSafe(value: string): string {
  return unsafe.test(value) ? value.replace(/[^\x20-\x7e]/g, '') : value;
}

const unsafe = /[^\x20-\x7e]/;
