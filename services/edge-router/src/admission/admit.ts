import type { LimitName as PublicLimitName } from '@gateway/errors';
import { GatewayError } from '@gateway/errors';
import type { Check, Decision, GroupedTerms, RemoteLimits, Reservation, Settlement } from '@gateway/limits';
import { moneyText } from '@gateway/presentation/numbers';
import type { PriceBook } from '@gateway/prices';
import { type Group, type Token, TokenKind, UnpricedModels } from '@gateway/proto/identity/v1/identity_service_pb.js';
import {
  type BudgetStatus,
  CostKind,
  LimitName,
  type LimitStatus,
  type Limits,
  type Refusal,
} from '@gateway/proto/limiter/v2/limit_pb.js';
import { epochMs, localDayOf } from '@gateway/time';
import type { EdgeRouterConfig } from '../config.ts';
import type { RequestEvents } from '../events.ts';

export interface Admission {
  readonly admittedAtMs: number;
  /** The day on which everything of this request counts. */
  readonly localDay: string;
  /** Fixed at admission; every later answer carries them. */
  readonly headers: Readonly<Record<string, string>>;
}

export type AdmissionDecision = Admission & {
  /** The request is admitted unless there is one. */
  readonly refusal?: GatewayError;
};

/** Whether limits apply to a request at all: personal tokens are never refused for one. */
export function isLimited({ kind, limits, group }: Token): boolean {
  if (kind === TokenKind.PERSONAL) return false;
  return isSet(limits) || isSet(group?.limits);
}

function isSet({ requestsPerMinute, tokensPerDay, concurrentRequests, budget }: Partial<Limits> = {}): boolean {
  return [requestsPerMinute, tokensPerDay, concurrentRequests, budget].some((limit) => limit !== undefined);
}

/** Whether requests of a token hold leases, or what they reserve, until they end. */
export function holdsLeases({ kind, limits, group }: Token): boolean {
  if (kind === TokenKind.PERSONAL) return false;
  const { limits: ofGroup } = group ?? {};
  const isLimited = [limits?.concurrentRequests, ofGroup?.concurrentRequests, ofGroup?.budget].some(
    (limit) => limit !== undefined,
  );
  return isLimited || isStrictlyLimited(limits) || isStrictlyLimited(ofGroup);
}

/** Whether requests reserve tokens of the day before they run. */
export function isStrictlyLimited(limits: Limits | undefined): boolean {
  return limits?.strictTokens === true && limits.tokensPerDay !== undefined;
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
  { limiter, pricing }: AdmissionPeers,
): Promise<AdmissionDecision> {
  const admittedAtMs = epochMs();
  if (costKind === undefined || !isLimited(token)) {
    return { admittedAtMs, localDay: localDayOf(admittedAtMs), headers: {} };
  }
  const { status, refusal } = await limiter.admit({ ...limiterTerms(token), requestId, costKind });
  const localDay = status?.localDay || localDayOf(admittedAtMs);
  const admission = { admittedAtMs, localDay, headers: rateLimitHeaders(status) };
  if (refusal === undefined) return admission;
  const call = { askedAtMs: admittedAtMs, answeredAtMs: epochMs() };
  return { ...admission, refusal: refusalError(refusal, call, pricing) };
}

interface AdmissionPeers {
  readonly limiter: Pick<EdgeLimiter, 'admit'>;
  readonly pricing: Currency;
}

/** In which a budget counts. */
interface Currency {
  readonly prices: { readonly currency: string };
}

/** What an admitted request of such a token holds before it has reserved anything. */
export function heldBy(requestId: string, token: Token, { localDay }: Pick<Admission, 'localDay'>): Reservation {
  return { ...limiterTerms(token), requestId, localDay, costMicros: 0 };
}

/**
 * The local day on which a model needs a price to answer a request. Empty: it needs none. Where
 * nothing has a price, no model can be priced as the dearest.
 */
export function pricedDayOf(
  { token, admission }: { readonly token: Token; readonly admission: Pick<Admission, 'localDay'> },
  { prices }: { readonly prices: Pick<PriceBook, 'isEmpty'> },
): string {
  const { limits, unpricedModels } = token.group ?? {};
  if (limits?.budget === undefined || !holdsLeases(token)) return '';
  return unpricedModels === UnpricedModels.DEAREST && !prices.isEmpty ? '' : admission.localDay;
}

export function refusalError(
  { limit, retryAtMs, retryAfterMs, budget }: Refusal,
  call: CallTimes,
  { prices }: Currency,
): GatewayError {
  const [name, text] = refusals[limit];
  const shownMs = shownInstant(retryAfterMs, retryAtMs, call);
  if (limit === LimitName.BUDGET && budget === undefined) {
    const unknown = "What the token's group has spent of its budget can't be read at the moment. Try again soon.";
    return new GatewayError('rate_limit_exceeded', unknown, { limit: name, retryAfterMs, retryAtMs: shownMs });
  }
  const message = budget === undefined ? text : `${text} ${budgetText(budget, prices.currency)}`;
  return new GatewayError('rate_limit_exceeded', message, { limit: name, retryAfterMs, retryAtMs: shownMs });
}

function budgetText({ amountMicros, spentMicros, reservedMicros }: BudgetStatus, currency: string): string {
  const money = (micros: number) => moneyText(micros, currency).trim();
  return `${money(spentMicros)} of ${money(amountMicros)} is spent, and running requests have reserved ${money(reservedMicros)}.`;
}

const requestsPerMinute = ['requests_per_minute', 'The token exceeded its limit of requests per minute.'] as const;

const refusals: Readonly<Record<LimitName, readonly [name: PublicLimitName, text: string]>> = {
  [LimitName.UNSPECIFIED]: requestsPerMinute,
  [LimitName.REQUESTS_PER_MINUTE]: requestsPerMinute,
  [LimitName.TOKENS_PER_DAY]: ['tokens_per_day', 'The token exceeded its limit of tokens per day.'],
  [LimitName.GROUP_REQUESTS_PER_MINUTE]: [
    'group_requests_per_minute',
    "The token's group exceeded its limit of requests per minute.",
  ],
  [LimitName.GROUP_TOKENS_PER_DAY]: ['group_tokens_per_day', "The token's group exceeded its limit of tokens per day."],
  [LimitName.BUDGET]: ['budget', "The budget of the token's group has no room for this request."],
  [LimitName.CONCURRENCY]: ['concurrency', 'The token or its group has too many requests running at the same time.'],
};

/** The key of a token at the limiter, and its limits; with a group, those of the group too. */
export function limiterTerms({ tokenId, limits, group }: Token): GroupedTerms {
  const terms = { key: `token:${tokenId}`, ...(limits && { limits }) };
  return group === undefined ? terms : { ...terms, group: groupTerms(group) };
}

/**
 * What the end of a request is charged to. Undefined: to nothing. The tokens of a personal token
 * count for its group only.
 */
export function chargedTerms(token: Token): GroupedTerms | undefined {
  const { kind, tokenId, limits, group } = token;
  const isCounted = group?.limits?.tokensPerDay !== undefined || group?.limits?.budget !== undefined;
  if (kind === TokenKind.PERSONAL) {
    return group && isCounted ? { key: `token:${tokenId}`, limits: {}, group: groupTerms(group) } : undefined;
  }
  if (isCounted || holdsLeases(token)) return limiterTerms(token);
  if (limits?.tokensPerDay === undefined) return undefined;
  // What belongs to a key with a group is kept with the group's, so both must be named.
  return group === undefined ? { key: `token:${tokenId}` } : limiterTerms(token);
}

function groupTerms({ groupId, limits }: Group) {
  return { key: `group:${groupId}`, ...(limits && { limits }) };
}

/**
 * The `x-ratelimit-*` headers of a request: the three headers of a limit are absent when it is not
 * set.
 * @see spec "Rate-limit headers"
 */
export function rateLimitHeaders({ requests, tokens }: Partial<LimitStatus> = {}): Admission['headers'] {
  return {
    ...(requests && headersOfLimit('requests', requests, requests.emptyAfterMs)),
    ...(tokens && headersOfLimit('tokens', tokens, tokens.resetsAfterMs)),
  };
}

function headersOfLimit(
  kind: string,
  { limit, remaining }: { readonly limit: number; readonly remaining: number },
  resetAfterMs: number,
) {
  return {
    [`x-ratelimit-limit-${kind}`]: String(limit),
    [`x-ratelimit-remaining-${kind}`]: String(remaining),
    [`x-ratelimit-reset-${kind}`]: formatDuration(resetAfterMs),
  };
}

/** When a call was made and answered, by the clock of this edge. */
export interface CallTimes {
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
}

/**
 * An instant of an answer as clients read it: by the clock of this edge, which the header `date`
 * tells them. The limiter's own instant, such as midnight, is shown if the two clocks agree as far
 * as the call can tell.
 */
export function shownInstant(afterMs: number, atMs: number | undefined, { askedAtMs, answeredAtMs }: CallTimes) {
  const isPossible = atMs !== undefined && atMs >= askedAtMs + afterMs && atMs <= answeredAtMs + afterMs;
  return isPossible ? atMs : answeredAtMs + afterMs;
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
  /** Decides all limits of a request, and takes slots and leases when it admits it. */
  admit(check: Check): Promise<Decision>;
  /** Reads all limits. */
  peek(terms: Pick<Check, 'key' | 'limits'>): Promise<LimitStatus | undefined>;
  /**
   * Adds what a request used to its totals. Resolves when the next request sees it.
   * Never rejects.
   */
  settle(settlement: Settlement): Promise<void>;
  /**
   * Reserves what a request can cost. A refusal returns what the request took at its admission.
   * @throws like `admit`
   */
  reserve(reservation: Reservation): Promise<Refusal | undefined>;
  /** Renews what running requests hold. Never rejects. */
  renew(running: readonly Reservation[]): Promise<void>;
}

/** Creates an edge's limiter. Called once; the edge starts it and disposes of it. */
export type CreateLimiter = (edge: {
  readonly config: Pick<EdgeRouterConfig, 'admissionPatienceMs' | 'limiterFailureMode' | 'limiterLocalMaxMs'>;
  readonly events: RequestEvents;
}) => EdgeLimiter;

/**
 * A limiter with its store in memory, in this process or in the one that this process lives and
 * dies with: nothing is kept for an outage, and no answer is abandoned.
 */
export function plainLimiter(limiter: Omit<RemoteLimits, 'heartbeat'>): CreateLimiter {
  return ({ events }) => ({
    admit: (check) => limiter.admit(check),
    peek: async (terms) => (await limiter.admit(readingOf(terms))).status,
    async settle(settlement) {
      try {
        await limiter.settle(settlement);
      } catch (fault) {
        events.faulted('settle', fault, settlement.requestId);
      }
    },
    reserve: (reservation) => limiter.reserve(reservation),
    async renew(running) {
      await limiter.renew(running).catch((fault: unknown) => events.faulted('renew', fault));
    },
  });
}

/** A check that reads all limits. */
export function readingOf(terms: Pick<Check, 'key' | 'limits'>): Check {
  return { ...terms, requestId: '', costKind: CostKind.REQUEST_ONLY };
}
