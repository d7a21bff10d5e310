import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import {
  CancelReason,
  type LoggedAttempt,
  NoAccountCause,
  RequestEnding,
  type RequestLogged,
} from '@gateway/proto/usage/v1/request_log_pb.js';

/** True for a request that its first account answered completely, unchanged and in time. */
export function isPlainSuccess({ ending, moved, slow, attempts }: RequestLogged): boolean {
  const isAmended = attempts.some(({ amended }) => amended !== '');
  return ending === RequestEnding.COMPLETED && !moved && !slow && !isAmended;
}

/** A request as one line in the log of this process. It names pools, never accounts. */
export function toLogFields(message: RequestLogged): object {
  const { requestId, endpoint, status, ending, attempts, noAccount, times, usage } = message;
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
    input_tokens: usage && Number(usage.inputTokens),
    output_tokens: usage && Number(usage.outputTokens),
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
