import { timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import { CostKind, LimitName, type LimitStatus, type Refusal } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { AdmitRequest, LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import { type Clock, localDayOf } from '@gateway/time';
import type { Principal } from '../authentication/principal.ts';
import { limiterTerms } from './limiter-terms.ts';
import type { LocalAdmission, LocalCheck } from './local-admission.ts';
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
  readonly limiter: Pick<Client<typeof LimiterService>, 'admit'>;
  /** Decides while the limiter does not answer. */
  readonly local: Pick<LocalAdmission, 'admit'>;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** Whether a request is held to limits at all: personal tokens never ask the limiter. */
export function isLimited({ limits }: Principal): boolean {
  return limits.requestsPerMinute !== undefined || limits.tokensPerDay !== undefined;
}

export type AdmissionDecision = Admission & { readonly refusal?: GatewayError };

/**
 * Takes a slot for a request: at once for one without limits. A refusal is thrown by `admission.refusal`, after its headers are
 * known: they belong on the 429 too. Never fails because the limiter is away. @see spec "Token limits"
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

function admitLimited(
  request: AdmissionRequest,
  admittedAtMs: number,
  peers: AdmissionPeers,
): Promise<AdmissionDecision> {
  const { limiter, timeoutMs } = peers;
  const check = checkOf(request);
  const deadlineMs = performance.now() + timeoutMs;
  const decided = (decision: Decision) => toAdmission(decision, admittedAtMs, peers);
  return limiter
    .admit(check, { timeoutMs })
    .then(decided, (thrown: unknown) => decideAgain(check, thrown, deadlineMs, peers).then(decided));
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

interface Decision {
  readonly status?: LimitStatus | undefined;
  readonly refusal?: Refusal | undefined;
}

/** A whole message, named as such: it need not be completed from its fields. */
function checkOf({ requestId, principal, cost }: AdmissionRequest): Check {
  const { key, limits } = limiterTerms(principal);
  return {
    $typeName: 'gateway.limiter.v1.AdmitRequest',
    key,
    requestId,
    limits,
    costKind: cost === 'request_only' ? CostKind.REQUEST_ONLY : CostKind.REQUEST_AND_TOKENS,
  };
}

type Check = AdmitRequest & Pick<LocalCheck, 'limits'>;

/**
 * When the connection broke, another limiter may be behind the address: it is asked once more, in the time that is left. A repeated
 * admission takes no second slot. Else this edge decides.
 */
async function decideAgain(
  check: Check,
  thrown: unknown,
  deadlineMs: number,
  { limiter, local }: AdmissionPeers,
): Promise<Decision> {
  if (!(thrown instanceof RpcError)) throw thrown;
  const timeoutMs = Math.floor(deadlineMs - performance.now());
  if (thrown.status !== 'unavailable' || timeoutMs < 1) return local.admit(check, thrown);
  try {
    return await limiter.admit(check, { timeoutMs });
  } catch (again) {
    if (!(again instanceof RpcError)) throw again;
    return local.admit(check, again);
  }
}

function refusalError({ limit, retryAt }: Refusal): GatewayError {
  const name = limit === LimitName.TOKENS_PER_DAY ? 'tokens_per_day' : 'requests_per_minute';
  const text = name === 'tokens_per_day' ? 'tokens per day' : 'requests per minute';
  return new GatewayError('rate_limit_exceeded', `The token is over its limit of ${text}.`, {
    limit: name,
    retryAtMs: retryAt === undefined ? undefined : timestampMs(retryAt),
  });
}
