import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import type { Check, Decision, Settlement } from '@gateway/limits';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { type CostKind, LimitName, type LimitStatus, type Refusal } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Client } from '@gateway/rpc';
import { type Clock, localDayOf } from '@gateway/time';
import type { EdgeRouterConfig } from '../config.ts';
import type { RequestEvents } from '../events.ts';

export interface Admission {
  readonly admittedAtMs: number;
  /** The day on which everything of this request counts. */
  readonly localDay: string;
  /** Fixed at admission; every later answer carries them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Whether limits apply to a request at all: personal tokens never use the limiter. */
export function isLimited({ kind, limits }: Token): boolean {
  if (kind === TokenKind.PERSONAL) return false;
  return limits?.requestsPerMinute !== undefined || limits?.tokensPerDay !== undefined;
}

/**
 * Takes a slot for a request, unless it costs nothing. A refusal is returned together with the
 * headers, because the 429 carries them too. While the limiter is unreachable, the edge admits its
 * share, for at most LIMITER_LOCAL_MAX_SECONDS.
 * @see spec "Token limits"
 */
export async function admit(
  requestId: string,
  token: Token,
  costKind: CostKind | undefined,
  { limiter, clock }: { readonly limiter: Pick<EdgeLimiter, 'admit'>; readonly clock: Clock },
): Promise<Admission & { readonly refusal?: GatewayError }> {
  const admittedAtMs = clock.nowMs();
  if (costKind === undefined || !isLimited(token)) {
    return { admittedAtMs, localDay: localDayOf(admittedAtMs), headers: {} };
  }
  const { status, refusal } = await limiter.admit({ ...limiterTerms(token), requestId, costKind });
  const localDay = status?.localDay || localDayOf(admittedAtMs);
  const admission = { admittedAtMs, localDay, headers: rateLimitHeaders(status, clock.nowMs()) };
  return refusal === undefined ? admission : { ...admission, refusal: refusalError(refusal) };
}

function refusalError({ limit, retryAt }: Refusal): GatewayError {
  const name = limit === LimitName.TOKENS_PER_DAY ? 'tokens_per_day' : 'requests_per_minute';
  return new GatewayError('rate_limit_exceeded', `The token exceeded its limit of ${name.replaceAll('_', ' ')}.`, {
    limit: name,
    retryAtMs: retryAt === undefined ? undefined : timestampMs(retryAt),
  });
}

/** The key of a token at the limiter, and its limits. */
export function limiterTerms({ tokenId, limits }: Token) {
  return { key: `token:${tokenId}`, ...(limits && { limits }) };
}

/**
 * The `x-ratelimit-*` headers of a request: the three headers of a limit are absent when it is not
 * set.
 * @see spec "Rate-limit headers"
 */
function rateLimitHeaders({ requests, tokens }: Partial<LimitStatus> = {}, nowMs: number): Admission['headers'] {
  return {
    ...(requests && headersOfLimit('requests', requests, requests.emptyAt, nowMs)),
    ...(tokens && headersOfLimit('tokens', tokens, tokens.resetsAt, nowMs)),
  };
}

function headersOfLimit(
  kind: string,
  { limit, remaining }: { readonly limit: number | bigint; readonly remaining: number | bigint },
  resetAt: Timestamp | undefined,
  nowMs: number,
) {
  return {
    [`x-ratelimit-limit-${kind}`]: String(limit),
    [`x-ratelimit-remaining-${kind}`]: String(remaining),
    [`x-ratelimit-reset-${kind}`]: formatDuration(resetAt === undefined ? 0 : timestampMs(resetAt) - nowMs),
  };
}

/**
 * Formats a duration like Go, rounded up to whole seconds: `42s`, `1m0s`, `7h49m35s`; `0s` when
 * there is nothing to wait for.
 */
export function formatDuration(durationMs: number): string {
  const seconds = Math.max(0, Math.ceil(durationMs / 1_000));
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const withMinutes = seconds < 60 ? '' : `${minutes}m`;
  return `${hours > 0 ? `${hours}h` : ''}${withMinutes}${seconds % 60}s`;
}

/** The operations that the edge needs from the limiter. */
export interface EdgeLimiter extends Partial<AsyncDisposable> {
  /** Starts background work that the first request depends on. */
  start?(): Promise<void>;
  /** Decides both limits of a request, and takes a slot when it admits it. */
  admit(check: Check): Promise<Decision>;
  /** Reads both limits. */
  peek(terms: Pick<Check, 'key' | 'limits'>): Promise<LimitStatus | undefined>;
  /**
   * Charges a finished request to the day budget. Resolves when the next request sees the charge.
   * Never rejects.
   */
  charge(settlement: Settlement): Promise<void>;
}

/** Creates an edge's limiter. Called once; the edge starts it and disposes of it. */
export type CreateLimiter = (edge: {
  readonly config: Pick<EdgeRouterConfig, 'rpcTimeoutMs' | 'limiterFailureMode' | 'limiterLocalMaxMs'>;
  readonly clock: Clock;
  readonly events: RequestEvents;
}) => EdgeLimiter;

type PlainClient = Pick<Client<typeof LimiterService>, 'admit' | 'peek' | 'settle'>;

/**
 * A limiter in the edge's own process, which is always reachable: nothing is kept for an outage,
 * and no answer is abandoned.
 */
export function plainLimiter(limiter: PlainClient): CreateLimiter {
  return ({ events }) => ({
    admit: (check) => limiter.admit(check),
    peek: async (terms) => (await limiter.peek(terms)).status,
    async charge({ tokens, ...settlement }) {
      try {
        await limiter.settle({ ...settlement, tokens: BigInt(tokens) });
      } catch (fault) {
        events.faulted('charge', fault, settlement.requestId);
      }
    },
  });
}
