import { timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import { CostKind, LimitName, type Refusal } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { AdmitRequest } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Clock, localDayOf } from '@gateway/time';
import type { Principal } from '../authentication/principal.ts';
import type { Check, Decision } from './fallback-limiter.ts';
import { limiterTerms } from './limiter-terms.ts';
import type { OutageTolerantLimiter } from './outage-tolerant-limiter.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

export interface Admission {
  readonly admittedAtMs: number;
  /** The day to which everything of this request is counted. */
  readonly localDay: string;
  /** Fixed now; they go on whatever answer follows. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface AdmissionRequest {
  readonly requestId: string;
  readonly principal: Principal;
  /** `request_only` is never refused by the day budget. */
  readonly cost: 'request_and_tokens' | 'request_only';
}

export interface AdmissionPeers {
  readonly limiter: Pick<OutageTolerantLimiter, 'admit'>;
  readonly clock: Clock;
}

/** Whether a request is held to limits at all: personal tokens never ask the limiter. */
export function isLimited({ limits }: Principal): boolean {
  return limits.requestsPerMinute !== undefined || limits.tokensPerDay !== undefined;
}

export type AdmissionDecision = Admission & { readonly refusal?: GatewayError };

/**
 * Takes a slot for a request: at once for one without limits. A refusal is thrown by `admission.refusal`, after its headers are
 * known: they belong on the 429 too. While the limiter is away this edge decides, for as long as it may. @see spec "Token limits"
 */
export function admit(
  request: AdmissionRequest,
  peers: AdmissionPeers,
): Promise<AdmissionDecision> | AdmissionDecision {
  const admittedAtMs = peers.clock.nowMs();
  if (isLimited(request.principal)) return admitLimited(request, admittedAtMs, peers);
  return { admittedAtMs, localDay: localDayOf(admittedAtMs), headers: none };
}

const none: Admission['headers'] = {};

async function admitLimited(
  request: AdmissionRequest,
  admittedAtMs: number,
  peers: AdmissionPeers,
): Promise<AdmissionDecision> {
  return toAdmission(await peers.limiter.admit(checkOf(request)), admittedAtMs, peers);
}

function toAdmission(
  { status, refusal }: Decision,
  admittedAtMs: number,
  { clock }: Pick<AdmissionPeers, 'clock'>,
): AdmissionDecision {
  const localDay = status?.localDay || localDayOf(admittedAtMs);
  const headers = status === undefined ? none : rateLimitHeaders(status, clock.nowMs());
  if (refusal === undefined) return { admittedAtMs, localDay, headers };
  return { admittedAtMs, localDay, headers, refusal: refusalError(refusal) };
}

/** A whole message, named as such: it need not be completed from its fields. */
function checkOf({ requestId, principal, cost }: AdmissionRequest): AdmitRequest & Check {
  const { key, limits } = limiterTerms(principal);
  return {
    $typeName: 'gateway.limiter.v1.AdmitRequest',
    key,
    requestId,
    limits,
    costKind: cost === 'request_only' ? CostKind.REQUEST_ONLY : CostKind.REQUEST_AND_TOKENS,
  };
}

function refusalError({ limit, retryAt }: Refusal): GatewayError {
  const name = limit === LimitName.TOKENS_PER_DAY ? 'tokens_per_day' : 'requests_per_minute';
  const text = name === 'tokens_per_day' ? 'tokens per day' : 'requests per minute';
  return new GatewayError('rate_limit_exceeded', `The token is over its limit of ${text}.`, {
    limit: name,
    retryAtMs: retryAt === undefined ? undefined : timestampMs(retryAt),
  });
}
