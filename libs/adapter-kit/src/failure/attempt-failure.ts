import { GatewayError } from '@gateway/errors';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { AttemptFailure } from '../format-definition.ts';
import { consequences, type ErrorMeaning } from './error-meanings.ts';
import { capabilityText, errorTexts, type RejectedCapability } from './error-texts.ts';

export interface FailureFacts {
  readonly meaning: ErrorMeaning;
  /** What of a rejected request the model does not take; undefined when the provider did not say. */
  readonly capability?: RejectedCapability | undefined;
  /** HTTP status; 0 when the failure came inside a stream. */
  readonly upstreamStatus: number;
  /** A code of the provider on which client libraries act; undefined for all others. */
  readonly upstreamCode?: string | undefined;
  /** Epoch milliseconds; undefined when the provider named no time. */
  readonly retryAtMs: number | undefined;
}

/** A failed attempt in the gateway's own words: the provider's text is never among them. */
export function toAttemptFailure(facts: FailureFacts): AttemptFailure {
  const { meaning } = facts;
  const { result, problem = AccountProblem.UNSPECIFIED, feature } = consequences[meaning];
  const retryAtMs = waits.has(result) ? facts.retryAtMs : undefined;
  return {
    result,
    meaning,
    retryAtMs,
    modelScoped: meaning === 'model_limited',
    // A request that the provider had begun to answer proves that it knew the account: the next one will show.
    problem: facts.upstreamStatus === 0 ? AccountProblem.UNSPECIFIED : problem,
    feature,
    upstreamStatus: facts.upstreamStatus,
    error: toGatewayError({ ...facts, retryAtMs }),
  };
}

/** A stream that broke, ended early or can't be read. */
export function brokenStream(): AttemptFailure {
  return toAttemptFailure({ meaning: 'server_error', upstreamStatus: 0, retryAtMs: undefined });
}

/**
 * An answer that is larger than may be buffered. It is the gateway's bound and not the account's fault: any other account would
 * answer as much, and bill for it.
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
  'The answer is larger than the gateway can hold at once, and was given up. Answers to requests with "stream": true have no such limit.';

/** Results that a provider's "come back at" belongs to. */
const waits: ReadonlySet<AttemptResult> = new Set([AttemptResult.RATE_LIMITED, AttemptResult.OVERLOADED]);

function toGatewayError({ meaning, capability, upstreamStatus, upstreamCode, retryAtMs }: FailureFacts): GatewayError {
  const details = { upstreamStatus: upstreamStatus === 0 ? undefined : upstreamStatus, upstreamCode };
  const text = capability === undefined ? errorTexts[meaning] : capabilityText(capability);
  const { result, mayBeRepeated = false } = consequences[meaning];
  if (result === AttemptResult.MODEL_UNAVAILABLE) return new GatewayError('model_not_found', text, details);
  if (rejections.has(result) && !mayBeRepeated) {
    const isTooLarge = meaning === 'too_large' && (upstreamStatus === 0 || upstreamStatus === 429);
    const status = isTooLarge ? 413 : upstreamStatus;
    const shown = rejectionStatuses.includes(status) ? status : 400;
    return new GatewayError('upstream_rejected', text, { ...details, upstreamStatus: shown });
  }
  if (result === AttemptResult.RATE_LIMITED) return new GatewayError('pool_exhausted', text, { ...details, retryAtMs });
  return new GatewayError('providers_unavailable', text, details);
}

/** Results of requests that were not taken as they are. */
const rejections: ReadonlySet<AttemptResult> = new Set([AttemptResult.REJECTED, AttemptResult.FEATURE_UNAVAILABLE]);

/** The statuses that a rejection has for clients; any other is a 400. @see spec "Codes" */
const rejectionStatuses: readonly number[] = [400, 413, 422];
