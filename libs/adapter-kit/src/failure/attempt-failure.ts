import { GatewayError } from '@gateway/errors';
import { noCreditCause } from '@gateway/presentation/account-error-text';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { msUntil } from '@gateway/time';
import type { AttemptFailure } from '../format-definition.ts';
import { consequences, type ErrorMeaning } from './error-meanings.ts';
import { capabilityText, errorTexts, type RejectedCapability } from './error-texts.ts';
import { type ProviderErrorNames, providerErrorText } from './provider-error-text.ts';

export interface FailureFacts {
  readonly meaning: ErrorMeaning;
  /**
   * The part of a rejected request that the model does not accept; undefined when the provider did
   * not say.
   */
  readonly capability?: RejectedCapability | undefined;
  /** HTTP status; 0 when the failure occurred inside a stream. */
  readonly upstreamStatus: number;
  /** A provider's code that client libraries act on; undefined for all others. */
  readonly upstreamCode?: string | undefined;
  /** What the provider's error is called, for operators; absent when it has no names. */
  readonly names?: ProviderErrorNames | undefined;
  /** Epoch milliseconds; undefined when the provider named no time. */
  readonly retryAtMs: number | undefined;
  /** The answer shows that a limit of the account itself is reached. Default false. */
  readonly isLimitOfAccount?: boolean;
}

/** A failed attempt in the gateway's own words, never with the provider's text. */
export function toAttemptFailure(facts: FailureFacts): AttemptFailure {
  const { meaning } = facts;
  const { result, problem = AccountProblem.UNSPECIFIED, feature } = consequences[meaning];
  const retryAtMs = waits.has(result) ? facts.retryAtMs : undefined;
  return {
    result,
    meaning,
    retryAtMs,
    modelScoped: meaning === 'model_limited',
    // A provider that had begun to answer accepted the account; the next request will show whether
    // it still does.
    problem: facts.upstreamStatus === 0 ? AccountProblem.UNSPECIFIED : problem,
    feature,
    upstreamStatus: facts.upstreamStatus,
    cause: causeOf(facts),
    error: toGatewayError(facts),
    isLimitOfAccount: facts.isLimitOfAccount ?? false,
  };
}

/**
 * What the failure means for a request that chose a service tier or a speed. These have limits of
 * their own: unless the answer names a limit of the account, no other request is concerned.
 */
export function failureOfChoice(failure: AttemptFailure): AttemptFailure {
  const { result, isLimitOfAccount = false, upstreamStatus, retryAtMs, error, cause, answer } = failure;
  if (!waits.has(result) || isLimitOfAccount) return failure;
  const { upstreamCode } = error;
  const ofChoice = toAttemptFailure({ meaning: 'unavailable_choice', upstreamStatus, upstreamCode, retryAtMs });
  return { ...ofChoice, cause, answer };
}

/**
 * Why the provider refused, where the result and the status do not say it. Names of the error only
 * where the request, or a part of it, is the reason.
 */
function causeOf({ meaning, names = {}, capability }: FailureFacts): string {
  if (meaning === 'no_credit') return noCreditCause;
  if (!namedResults.has(consequences[meaning].result)) return '';
  return providerErrorText({ ...names, code: names.code ?? capability });
}

const namedResults: ReadonlySet<AttemptResult> = new Set([
  AttemptResult.REJECTED,
  AttemptResult.RATE_LIMITED,
  AttemptResult.MODEL_UNAVAILABLE,
  AttemptResult.FEATURE_UNAVAILABLE,
  AttemptResult.REFUSED,
]);

/** A stream that broke off, ended early or can't be read. */
export function brokenStream(): AttemptFailure {
  return toAttemptFailure({ meaning: 'server_error', upstreamStatus: 0, retryAtMs: undefined });
}

/**
 * An answer that exceeds the buffer limit. The limit is the gateway's, not the account's fault: any
 * other account would answer as much, and bill for it.
 */
export function answerTooLarge(): AttemptFailure {
  return {
    result: AttemptResult.ANSWER_TOO_LARGE,
    retryAtMs: undefined,
    modelScoped: false,
    upstreamStatus: 0,
    error: new GatewayError('internal_error', answerTooLargeText),
  };
}

const answerTooLargeText =
  'The answer is too large to buffer, and was cancelled. Answers to requests with "stream": true have no such limit.';

/** Results that a provider's "retry at" belongs to. */
const waits: ReadonlySet<AttemptResult> = new Set([AttemptResult.RATE_LIMITED, AttemptResult.OVERLOADED]);

function toGatewayError({ meaning, capability, upstreamStatus, upstreamCode, retryAtMs }: FailureFacts): GatewayError {
  const details = { upstreamStatus: upstreamStatus === 0 ? undefined : upstreamStatus, upstreamCode };
  const text = capability === undefined ? errorTexts[meaning] : capabilityText(capability);
  const { concern, result, mayBeRepeated = false } = consequences[meaning];
  if (result === AttemptResult.MODEL_UNAVAILABLE) return new GatewayError('model_not_found', text, details);
  if (rejections.has(result) && !mayBeRepeated) {
    const isTooLarge = meaning === 'too_large' && (upstreamStatus === 0 || upstreamStatus === 429);
    const status = isTooLarge ? 413 : upstreamStatus;
    const shown = rejectionStatuses.includes(status) ? status : 400;
    return new GatewayError('upstream_rejected', text, { ...details, upstreamStatus: shown });
  }
  const retryAfterMs = retryAtMs === undefined ? undefined : msUntil(retryAtMs);
  if (result === AttemptResult.RATE_LIMITED)
    return new GatewayError('pool_exhausted', text, { ...details, retryAfterMs });
  if (result === AttemptResult.REFUSED && rejectionStatuses.includes(upstreamStatus)) {
    return new GatewayError('upstream_rejected', text, details);
  }
  const wait = concern === 'choice' ? { ...details, retryAfterMs } : details;
  return new GatewayError('providers_unavailable', text, wait);
}

/** Results of requests that were rejected. */
const rejections: ReadonlySet<AttemptResult> = new Set([AttemptResult.REJECTED, AttemptResult.FEATURE_UNAVAILABLE]);

/** The statuses that a rejection keeps for clients; any other becomes 400. @see spec "Codes" */
const rejectionStatuses: readonly number[] = [400, 413, 422];
