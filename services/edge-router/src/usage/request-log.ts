import type { GatewayErrorCode } from '@gateway/errors';
import { usedBy } from '@gateway/presentation/request-usage';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import {
  CancelReason,
  NoAccountCause,
  type RecordedAttempt,
  RequestEnding,
  type RequestRecorded,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { failSpan, type Metrics, type Span } from '@gateway/telemetry';
import { epochMs } from '@gateway/time';
import type { Outbox } from './outbox.ts';

/** At most this many requests per second are logged for which no account was tried. */
const maxUntriedPerSecond = 100;

export type RequestLog = ReturnType<typeof createRequestLog>;

/** Decides which requests are logged, as far as there is room: usage has precedence. */
export function createRequestLog(outbox: Pick<Outbox, 'hasRoomForLog'>, metrics: Metrics) {
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
     * Called once for each request, when it ends. One with an unknown token is not logged, because
     * anyone can send any number of them.
     */
    takes({ tokenId, attempts }: RequestRecorded): boolean {
      if (tokenId === '') return false;
      const reason = attempts.length === 0 && !takeUntried() ? 'rate' : outbox.hasRoomForLog ? undefined : 'backlog';
      if (reason !== undefined) dropped.inc({ reason });
      return reason === undefined;
    },
  };
}

export interface FinalResponse {
  /** The HTTP status that was sent, or would have been. */
  readonly status: number;
  /** The error that the client got before any part of an answer. */
  readonly errorCode?: GatewayErrorCode | undefined;
  readonly clientLeft: boolean;
}

/** The ending of a request, in one word for operators. */
export function endingOf(end: FinalResponse, last: RecordedAttempt | undefined): RequestEnding {
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
function brokeOff({ firstByte, ended, result, cancelReason }: RecordedAttempt): boolean {
  const isClients = cancelReason === CancelReason.CLIENT_LEFT || cancelReason === CancelReason.CLIENT_STALLED;
  return firstByte !== undefined && ended !== undefined && result !== AttemptResult.SUCCEEDED && !isClients;
}

/** True for a request that its first account answered completely, unchanged and in time. */
export function isPlainSuccess({ ending, slow, attempts }: RequestRecorded): boolean {
  const isAmended = attempts.some(({ amended }) => amended !== '');
  return ending === RequestEnding.COMPLETED && attempts.length <= 1 && !slow && !isAmended;
}

/**
 * A request as one line in the log of this process. It names pools, never accounts, nor the causes
 * of failures, which have addresses.
 */
export function toLogFields(message: RequestRecorded): object {
  const { requestId, endpoint, status, ending, attempts, noAccount, times } = message;
  const used = usedBy(message);
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
    input_tokens: used?.usage.inputTokens,
    output_tokens: used?.usage.outputTokens,
    cost_micros: used?.costMicros,
    seconds: seconds(times?.ended),
  };
}

/** Why a request failed, as one of a few words; empty if it did not fail. */
export function failureOf({ status, errorCode, ending, attempts }: RequestRecorded): string {
  if (ending === RequestEnding.COMPLETED) return '';
  if (errorCode !== '') return errorCode;
  if (ending === RequestEnding.ABORTED) return 'client_closed_request';
  const last = attempts.at(-1);
  // An answer that had started broke off; otherwise a provider's answer was passed on.
  return last?.firstByte === undefined ? String(status) : attemptFailure(last);
}

/** How an attempt failed, in one word: what it came to, or why it was cancelled. */
export function attemptFailure({ result, cancelReason }: Pick<RecordedAttempt, 'result' | 'cancelReason'>): string {
  if (result !== AttemptResult.CANCELLED || cancelReason === CancelReason.UNSPECIFIED)
    return wordOf(AttemptResult, result);
  return wordOf(CancelReason, cancelReason);
}

/** Ends an attempt's span, which lasts from its lease to its end. */
export function endAttemptSpan(span: Span, attempt: RecordedAttempt): void {
  const { result, cancelReason, upstreamStatus } = attempt;
  span.setAttribute('gateway.attempt.result', wordOf(AttemptResult, result));
  if (upstreamStatus > 0) span.setAttribute('gateway.attempt.upstream_status', upstreamStatus);
  const isCancelled = cancelReason !== CancelReason.UNSPECIFIED;
  if (isCancelled) span.setAttribute('gateway.attempt.cancel_reason', wordOf(CancelReason, cancelReason));
  const hasFailed = result !== AttemptResult.SUCCEEDED && cancelReason !== CancelReason.CLIENT_LEFT;
  if (hasFailed) failSpan(span, attemptFailure(attempt));
  span.end();
}

function attemptFields({
  pool,
  model,
  result,
  upstreamStatus,
  amended,
  cancelReason,
  acquired,
  ended,
}: RecordedAttempt) {
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
