import { create } from '@bufbuild/protobuf';
import { createChatAnswer, type FinishReason, type ReportedUsage, type TokenUsage } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import { BufferList } from '@gateway/json';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  AccountProblem,
  AttemptResult,
  ProviderFormat as ProviderFormatId,
} from '@gateway/proto/pool/v1/account_pb.js';
import { ProviderModelSchema } from '@gateway/proto/pool/v1/model_pb.js';
import { EventSplitter, readEvent } from '@gateway/sse';
import { Reasoning } from '../event-stream-reader.ts';
import type {
  AnswerReader,
  AnswerResult,
  AttemptFailure,
  ClientRequest,
  FormatDefinition,
  PreparedCall,
  QuotaWindow,
} from '../format-definition.ts';
import type { UpstreamHead } from '../upstream/upstream-exchange.ts';

/**
 * A minimal format: `text`, `think`, `reason`, `reasoned`, `usage`, `id`, `reasoning`, `quota`,
 * `unknown`, `done`, `fail` and `throw` events. For the Messages dialect it passes errors on.
 * Requests can do without the member `spare`.
 */
export const fakeFormat: FormatDefinition = {
  id: ProviderFormatId.MESSAGES,
  translators: new Map([
    [Dialect.CHAT_COMPLETIONS, { prepare }],
    [Dialect.MESSAGES, { prepare, passesErrorsOn: true }],
  ]),
  headers: { 'x-format-version': '7' },
  modelListPath: '/models?limit=9',
  readModelList: (body) => {
    if (!Array.isArray(body))
      throw new GatewayError('providers_unavailable', "The provider's model list is not valid.");
    return body.map((id) => create(ProviderModelSchema, { id: String(id) }));
  },
  mapUpstreamError: ({ status, body }) => ({
    result: results.get(status) ?? AttemptResult.SERVER_ERROR,
    retryAtMs: 5_000,
    modelScoped: true,
    upstreamStatus: status,
    problem: Buffer.from(body).toString() === 'revoked' ? AccountProblem.CREDENTIAL_REVOKED : undefined,
    error: new GatewayError('pool_exhausted', `${body.length} bytes`),
  }),
};

const results: ReadonlyMap<number, AttemptResult> = new Map([
  [402, AttemptResult.UNAUTHORIZED],
  [429, AttemptResult.RATE_LIMITED],
]);

export const event = {
  text: (text: string) => sseEvent('text', text),
  think: (text: string) => sseEvent('think', text),
  /** Reasoning starts; only its encrypted form becomes visible, at its end. */
  reason: sseEvent('reason', '{}'),
  reasoned: (encrypted: string) => sseEvent('reasoned', encrypted),
  usage: (usage: TokenUsage & Pick<ReportedUsage, 'cacheCreationTokens'>) => sseEvent('usage', JSON.stringify(usage)),
  id: (id: string) => sseEvent('id', id),
  reasoning: (digest: string) => sseEvent('reasoning', digest),
  quota: (usedFraction: number) => sseEvent('quota', `${usedFraction}`),
  unknown: sseEvent('unknown', '{}'),
  done: sseEvent('done', '{}'),
  fail: sseEvent('fail', '{}'),
  throw: sseEvent('throw', '{}'),
  ping: sseEvent('ping', 'x'.repeat(100)),
};

export const overloaded: AttemptFailure = {
  result: AttemptResult.OVERLOADED,
  retryAtMs: undefined,
  modelScoped: false,
  upstreamStatus: 0,
  error: new GatewayError('pool_exhausted', 'The words of the reader.'),
};

function prepare(request: ClientRequest): PreparedCall {
  const { body, requestId, lease, nowMs, forwardHeaders } = request;
  const { stream, refuse, spare, ...rest } = JSON.parse(body.whole().toString());
  if (refuse) throw new GatewayError('unsupported_content', 'messages[0] is not for this model');
  const created = Math.floor(nowMs / 1_000);
  const answer = new FakeAnswerReader({ id: requestId, created, model: lease.model, stream, includeUsage: true });
  const amended = () =>
    prepare({ ...request, body: new BufferList([Buffer.from(JSON.stringify({ stream, ...rest }))]) });
  const amend = spare === undefined ? undefined : amended;
  return { path: '/answer', headers: { ...forwardHeaders }, body: body.chunks, answer, ...(amend && { amend }) };
}

class FakeAnswerReader implements AnswerReader {
  readonly #answer;
  readonly #splitter = new EventSplitter({ maxEventBytes: 4_000_000, onEvent: (event) => this.#onEvent(event) });
  readonly #reasoning = new Reasoning();
  #providerHeaders: UpstreamHead['headers'] = {};
  answerId: string | undefined;
  encryptedReasoning: string | undefined;
  finishReason: FinishReason | undefined;
  readonly answeringModel: string;
  unknownEvents = 0;
  quotas: readonly QuotaWindow[] = [];
  result: AnswerResult | undefined;
  reportedUsage: TokenUsage | undefined;

  constructor(options: Parameters<typeof createChatAnswer>[0]) {
    this.#answer = createChatAnswer(options);
    this.answeringModel = options.model;
  }

  get head() {
    const { status, headers } = this.#answer.head;
    const { 'x-turn': turn } = this.#providerHeaders;
    return { status, headers: turn === undefined ? headers : { ...headers, 'x-turn': turn } };
  }

  get hasContent() {
    return this.#answer.hasContent;
  }

  get producedCharacters() {
    return this.#answer.producedCharacters + this.#reasoning.producedCharacters;
  }

  get reasoning() {
    return this.#reasoning.state;
  }

  get pendingBytes() {
    return this.#splitter.pendingBytes;
  }

  onHead({ headers }: UpstreamHead): void {
    this.#providerHeaders = headers;
  }

  push(bytes: Uint8Array): void {
    this.#splitter.push(bytes);
  }

  end(): void {
    this.#onEvent(this.#splitter.end());
    this.result ??= { kind: 'failed', failure: overloaded };
  }

  take(): Uint8Array {
    return this.hasContent ? this.#answer.take() : new Uint8Array();
  }

  #onEvent(event: Buffer): void {
    const { name, data = '' } = readEvent(event);
    if (name === 'text') this.#answer.text(data);
    if (name === 'think') this.#reasoning.shown(data);
    if (name === 'reason') this.#reasoning.begin();
    if (name === 'reasoned') {
      this.#reasoning.encrypted(data);
      this.#reasoning.end();
    }
    if (name === 'usage') this.reportedUsage = JSON.parse(data);
    if (name === 'id') this.answerId = data;
    if (name === 'reasoning') this.encryptedReasoning = data;
    if (name === 'quota') this.quotas = [{ ...quotaOfEvents, usedFraction: Number(data) }];
    if (name === 'unknown') this.unknownEvents += 1;
    if (name === 'fail') this.result = { kind: 'failed', failure: { ...overloaded, answer: answerOf(data) } };
    if (name === 'throw') throw new Error('a fault');
    if (name !== 'done') return;
    this.finishReason = 'stop';
    this.#answer.finish(this.finishReason, this.reportedUsage);
    this.result = { kind: 'finished' };
  }
}

function sseEvent(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

const quotaOfEvents = { name: 'day', models: 'model-x', resetsAtMs: undefined, lengthSeconds: 0 };

function answerOf(text: string): AttemptFailure['answer'] {
  return { status: 200, contentType: 'text/event-stream', body: Buffer.from(text) };
}
