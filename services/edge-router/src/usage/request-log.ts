import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayError, GatewayErrorCode } from '@gateway/errors';
import { LimitName, RefusalSchema } from '@gateway/proto/limiter/v1/limit_pb.js';
import { type AttemptReport, AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { AcquireResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import {
  CancelReason,
  type LoggedAttempt,
  LoggedAttemptSchema,
  NoAccountCause,
  NoAccountSchema,
  RequestEnding,
  type RequestLogged,
  RequestLoggedSchema,
  RequestTimesSchema,
} from '@gateway/proto/usage/v1/request_log_pb.js';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { failSpan, type Metrics, type Span, startSpan, withSpan } from '@gateway/telemetry';
import { epochMs, monotonicMs } from '@gateway/time';
import type { Outbox } from './outbox.ts';

/** At most this many requests per second are logged for which no account was tried. */
const maxUntriedPerSecond = 100;

export type RequestLog = ReturnType<typeof createRequestLog>;

/** Passes log entries of requests to the outbox, as far as there is room: usage has precedence. */
export function createRequestLog(outbox: Pick<Outbox, 'log'>, metrics: Metrics) {
  const dropped = metrics.counter({
    name: 'gateway_edge_request_log_dropped_total',
    help: `Requests left out of the request log: more than ${maxUntriedPerSecond} requests without an attempt in a second (rate), or the outbox was too full (backlog).`,
    labels: ['reason'],
  });
  for (const reason of ['rate', 'backlog']) dropped.inc({ reason }, 0);
  const untried = { second: 0, count: 0 };

  function takeUntried(): boolean {
    const second = Math.floor(epochMs() / 1_000);
    if (second !== untried.second) Object.assign(untried, { second, count: 0 });
    return ++untried.count <= maxUntriedPerSecond;
  }

  return {
    /**
     * Called when a request has ended. A request with an unknown token is not logged, because
     * anyone can send any number of them.
     */
    add({ message }: RequestLogEntry): void {
      if (message.tokenId === '') return;
      if (message.attempts.length === 0 && !takeUntried()) dropped.inc({ reason: 'rate' });
      else if (!outbox.log(message)) dropped.inc({ reason: 'backlog' });
    },
  };
}

type LoggedRequest = Pick<RequestLogged, 'requestId' | 'endpoint'> & {
  readonly clientRequestId?: string;
  readonly receivedAtMs: number;
  /** An answer that starts this long after the request was read is slow. Default: no answer is. */
  readonly slowMs?: number;
};

export interface FinalResponse {
  /** The HTTP status that was sent, or would have been. */
  readonly status: number;
  /** The error that the client got before any part of an answer. */
  readonly errorCode: GatewayErrorCode | undefined;
  readonly clientLeft: boolean;
}

/** Records the course of one request. Never contains its content. */
export class RequestLogEntry {
  /** The entry so far. */
  readonly message: RequestLogged;
  /** The lease of the latest attempt. */
  lease: Lease | undefined;
  /** When the first content of a streamed answer was sent. */
  firstTokenMs: number | undefined;
  readonly #timings = create(RequestTimesSchema);
  readonly #slowMs: number;
  readonly #monotonicMs: () => number;
  readonly #startedAtMs: number;
  #acquireStartedAtMs = 0;
  #span: Span | undefined;

  constructor({ slowMs = Infinity, ...request }: LoggedRequest, readMonotonicMs = monotonicMs) {
    this.message = create(RequestLoggedSchema, { ...request, times: this.#timings });
    this.#slowMs = slowMs;
    this.#monotonicMs = readMonotonicMs;
    this.#startedAtMs = readMonotonicMs();
  }

  get elapsedMs(): number {
    return this.#monotonicMs() - this.#startedAtMs;
  }

  onAuthenticated(tokenId: string): void {
    this.message.tokenId = tokenId;
  }

  /** A limit of the token refused the request. */
  onRefused({ limit, retryAtMs }: Pick<GatewayError, 'limit' | 'retryAtMs'>): void {
    this.message.refusal = create(RefusalSchema, { ...(limit && { limit: limits[limit] }), retryAtMs });
  }

  onAdmitted(): void {
    this.#timings.admitted = this.#now();
  }

  /** @param model as the body names it; empty: it names none */
  onBodyRead(model: string, streamed: boolean): void {
    this.#timings.bodyRead = this.#now();
    this.message.streamed = streamed;
    // A copy: a slice would keep the whole text in memory, whose length the client determines.
    this.message.model = Buffer.from(model.slice(0, longestModel)).toString();
  }

  onWaitedForRoom(waitedMs: number): void {
    this.#timings.waitedForRoom = waitedMs;
  }

  onAsking(): void {
    this.#acquireStartedAtMs = this.#now();
  }

  /** An attempt starts, or there is no account. */
  onAcquired({ result, reason, skipped }: AcquireResponse): void {
    if (result.case !== 'lease') {
      const retryAtMs = result.case === 'exhausted' ? result.value.retryAtMs : undefined;
      return this.#noAccount({ cause: causes[result.case ?? 'unavailable'], reason, skipped, retryAtMs });
    }
    const { pool, accountId, model } = result.value;
    const attempt = { pool, accountId, model, reason, skipped, asked: this.#acquireStartedAtMs, acquired: this.#now() };
    this.#timings.firstAttempt ??= attempt.acquired;
    this.message.attempts.push(create(LoggedAttemptSchema, attempt));
    this.message.moved = this.message.attempts.length > 1;
    this.lease = result.value;
    this.#span = startSpan('attempt', { attributes: { 'gateway.pool': pool, 'gateway.account': accountId } });
  }

  /** Runs `work` as part of the current attempt: its calls appear inside the attempt's span. */
  withinAttempt<T>(work: () => T): T {
    return this.#span === undefined ? work() : withSpan(this.#span, work);
  }

  /** The broker is not asked. */
  onModelNotAllowed(): void {
    this.onAsking();
    this.#noAccount({ cause: NoAccountCause.MODEL_NOT_ALLOWED });
  }

  onBrokerAway(): void {
    this.#noAccount({ cause: NoAccountCause.BROKER_AWAY });
  }

  /** The first content of an answer has arrived. */
  onAnswering(): void {
    if (this.#attempt !== undefined) this.#attempt.firstByte = this.#now();
  }

  /** The first content of a streamed answer is sent. */
  onStreaming(): void {
    this.firstTokenMs = this.#now();
  }

  /** The attempt was possible only without a part that the provider refused. */
  onAmended(amended: string): void {
    if (this.#attempt !== undefined) this.#attempt.amended = amended;
  }

  /** Only the first call for an attempt has an effect. */
  onAttemptEnded(report: AttemptReport, cancelReason = CancelReason.UNSPECIFIED): void {
    const attempt = this.#attempt;
    if (attempt === undefined || attempt.ended !== undefined) return;
    const { result, upstreamStatus, retryAtMs } = report;
    const cause = report.cause.slice(0, longestCause);
    Object.assign(attempt, { ended: this.#now(), result, upstreamStatus, retryAtMs, cancelReason, cause });
    if (this.#span !== undefined) endAttemptSpan(this.#span, attempt);
  }

  /**
   * The client was disconnected because it read nothing, whether or not the attempt had succeeded.
   */
  onClientStalled(): void {
    if (this.#attempt !== undefined) this.#attempt.cancelReason = CancelReason.CLIENT_STALLED;
  }

  onRecorded(recorded: UsageRecorded): void {
    const { inputTokens, cachedTokens, cacheWrite5mTokens, cacheWrite1hTokens } = recorded;
    const { outputTokens, reasoningTokens, estimated, parts } = recorded;
    const input = { inputTokens, cachedTokens, cacheWrite5mTokens, cacheWrite1hTokens };
    const counts = { ...input, outputTokens, reasoningTokens, estimated, parts };
    this.message.usage = { $typeName: 'gateway.adapter.v1.Usage', ...counts };
    if (recorded.costMicros !== undefined) this.message.costMicros = recorded.costMicros;
  }

  onEnded(end: FinalResponse): void {
    const last = this.#attempt;
    const [ended, firstByte, { bodyRead }] = [this.#now(), last?.firstByte, this.#timings];
    Object.assign(this.#timings, { ended, firstByte });
    // The client's upload time does not count.
    const slow = bodyRead !== undefined && (firstByte ?? ended) - bodyRead >= this.#slowMs;
    const { status, errorCode = '' } = end;
    Object.assign(this.message, { status, errorCode, ending: endingOf(end, last), slow });
  }

  get #attempt(): LoggedAttempt | undefined {
    return this.message.attempts.at(-1);
  }

  #noAccount(why: MessageInitShape<typeof NoAccountSchema>): void {
    const answered = this.#now();
    this.message.noAccount = create(NoAccountSchema, { ...why, asked: this.#acquireStartedAtMs, answered });
  }

  /** Rounded to a hundredth of a millisecond. */
  #now(): number {
    return Math.round(this.elapsedMs * 100) / 100;
  }
}

const longestModel = 100;

/** As the contract of AttemptReport says. */
const longestCause = 200;

/** Ends an attempt's span, which lasts from its lease to its end. */
function endAttemptSpan(span: Span, attempt: LoggedAttempt): void {
  const { result, cancelReason, upstreamStatus } = attempt;
  span.setAttribute('gateway.attempt.result', wordOf(AttemptResult, result));
  if (upstreamStatus > 0) span.setAttribute('gateway.attempt.upstream_status', upstreamStatus);
  const isCancelled = cancelReason !== CancelReason.UNSPECIFIED;
  if (isCancelled) span.setAttribute('gateway.attempt.cancel_reason', wordOf(CancelReason, cancelReason));
  const hasFailed = result !== AttemptResult.SUCCEEDED && cancelReason !== CancelReason.CLIENT_LEFT;
  if (hasFailed) failSpan(span, attemptFailure(attempt));
  span.end();
}

const causes = {
  exhausted: NoAccountCause.EXHAUSTED,
  unavailable: NoAccountCause.UNAVAILABLE,
  unknownModel: NoAccountCause.UNKNOWN_MODEL,
} as const;

const limits = {
  requests_per_minute: LimitName.REQUESTS_PER_MINUTE,
  tokens_per_day: LimitName.TOKENS_PER_DAY,
  group_requests_per_minute: LimitName.GROUP_REQUESTS_PER_MINUTE,
  group_tokens_per_day: LimitName.GROUP_TOKENS_PER_DAY,
  budget: LimitName.BUDGET,
  concurrency: LimitName.CONCURRENCY,
} as const;

/** The ending of a request, in one word for operators. */
function endingOf(end: FinalResponse, last: LoggedAttempt | undefined): RequestEnding {
  const wasRejected = last?.result === AttemptResult.REJECTED;
  if (last !== undefined && brokeOff(last)) return wasRejected ? RequestEnding.REFUSED : RequestEnding.FAILED;
  if (end.clientLeft) return RequestEnding.ABORTED;
  if (end.status < 400) return RequestEnding.COMPLETED;
  if (end.status >= 500 || end.errorCode === 'pool_exhausted') return RequestEnding.FAILED;
  // Clients of some endpoints receive a provider's own status; only a rejection is caused by the
  // request.
  const isOfProvider = end.errorCode === undefined || end.errorCode === 'upstream_rejected';
  const clientMustChangeIt = last?.ended === undefined || !isOfProvider || wasRejected;
  return clientMustChangeIt ? RequestEnding.REFUSED : RequestEnding.FAILED;
}

/**
 * True when an answer had started and did not end as a whole, although the client was connected.
 */
function brokeOff({ firstByte, ended, result, cancelReason }: LoggedAttempt): boolean {
  const isClients = cancelReason === CancelReason.CLIENT_LEFT || cancelReason === CancelReason.CLIENT_STALLED;
  return firstByte !== undefined && ended !== undefined && result !== AttemptResult.SUCCEEDED && !isClients;
}

/** True for a request that its first account answered completely, unchanged and in time. */
export function isPlainSuccess({ ending, moved, slow, attempts }: RequestLogged): boolean {
  const isAmended = attempts.some(({ amended }) => amended !== '');
  return ending === RequestEnding.COMPLETED && !moved && !slow && !isAmended;
}

/**
 * A request as one line in the log of this process. It names pools, never accounts, nor the causes
 * of failures, which have addresses.
 */
export function toLogFields(message: RequestLogged): object {
  const { requestId, endpoint, status, ending, attempts, noAccount, times, usage, costMicros } = message;
  return {
    request_id: requestId,
    client_request_id: message.clientRequestId || undefined,
    endpoint,
    status,
    ending: wordOf(RequestEnding, ending),
    token_id: message.tokenId || undefined,
    model: message.model || undefined,
    code: message.errorCode || undefined,
    attempts: attempts.length === 0 ? undefined : attempts.map(attemptFields),
    no_account: noAccount && wordOf(NoAccountCause, noAccount.cause),
    first_byte_seconds: seconds(times?.firstByte),
    input_tokens: usage?.inputTokens,
    output_tokens: usage?.outputTokens,
    cost_micros: costMicros,
    seconds: seconds(times?.ended),
  };
}

/** Why a request failed, as one of a few words; empty if it did not fail. */
export function failureOf({ status, errorCode, ending, attempts }: RequestLogged): string {
  if (ending === RequestEnding.COMPLETED) return '';
  if (errorCode !== '') return errorCode;
  if (ending === RequestEnding.ABORTED) return 'client_closed_request';
  const last = attempts.at(-1);
  // An answer that had started broke off; otherwise a provider's answer was passed on.
  return last?.firstByte === undefined ? String(status) : attemptFailure(last);
}

/** How an attempt failed, in one word: what it came to, or why it was cancelled. */
export function attemptFailure({ result, cancelReason }: Pick<LoggedAttempt, 'result' | 'cancelReason'>): string {
  if (result !== AttemptResult.CANCELLED || cancelReason === CancelReason.UNSPECIFIED)
    return wordOf(AttemptResult, result);
  return wordOf(CancelReason, cancelReason);
}

function attemptFields({ pool, model, result, upstreamStatus, amended, cancelReason, acquired, ended }: LoggedAttempt) {
  return {
    pool,
    model,
    result: wordOf(AttemptResult, result),
    upstream_status: upstreamStatus || undefined,
    amended: amended || undefined,
    cancel_reason: cancelReason === CancelReason.UNSPECIFIED ? undefined : wordOf(CancelReason, cancelReason),
    seconds: seconds(ended && ended - acquired),
  };
}

/** The name of an enum value in lower case: `rate_limited`. */
export function wordOf(names: Readonly<Record<number, string>>, value: number): string {
  return (names[value] ?? 'unknown').toLowerCase();
}

/** Rounded to a tenth of a millisecond. */
function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10_000;
}
