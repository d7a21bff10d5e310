import { hash } from 'node:crypto';
import { choiceTexts } from '@gateway/presentation/routing-text';
import { servesModel } from '../accounts/account.ts';
import { isLack, type Lack } from '../accounts/attempt.ts';
import type { Candidate } from '../catalog/catalog.ts';
import type {
  AccountView,
  Availability,
  EarlyProbe,
  Eligibility,
  SelectionTerms,
  SkipReason,
} from '../health/eligibility.ts';
import {
  anyTime,
  availabilityOf,
  eligibilityOf,
  errorAverageAt,
  headroomOf,
  isDoubted,
  paceOf,
} from '../health/eligibility.ts';
import { poolAvailabilityOf } from '../health/pool-health.ts';
import type { PoolView } from '../store/pool-store.ts';
import { outcomeOf } from './outcome-of.ts';

export interface CandidateView extends Omit<PoolView, 'accounts'> {
  readonly candidate: Candidate;
  readonly accounts: readonly AccountView[];
  /**
   * Set when `accounts` is a sample. `usableShare`: the share of accounts for the model that are
   * not known to be limited.
   */
  readonly sampled?: { readonly usableShare: number };
}

export interface SelectionRequest extends Required<SelectionTerms> {
  /** In order of preference; only candidates that the request may use. */
  readonly candidates: readonly CandidateView[];
  /** See `Wanted`. */
  readonly features?: readonly string[];
  /** Empty: no affinity. */
  readonly affinityKey: string;
  readonly random: () => number;
}

/** `examinations`: the findings for each examined candidate, in order. */
export type Selection = { readonly examinations: readonly Examination[] } & (
  | Chosen
  /**
   * Every account that could serve the request is limited. `retryAtMs`: the earliest known reset.
   */
  | { readonly kind: 'exhausted'; readonly retryAtMs: number | undefined }
  /**
   * `lack`: what all accounts in service lack. `retryAtMs`: the earliest reset or probe, if one is
   * known.
   */
  | { readonly kind: 'unavailable'; readonly lack?: Lack | undefined; readonly retryAtMs?: number }
);

export interface Chosen {
  readonly kind: 'chosen';
  readonly candidate: CandidateView;
  readonly view: AccountView;
  /** Explains the choice to operators. */
  readonly reason: string;
  /** The request is the only one that probes whether the account, or the pool, is back. */
  readonly probe: boolean;
  readonly poolProbe: boolean;
}

export interface Examination {
  readonly candidate: CandidateView;
  readonly examined: readonly Examined[];
}

interface Examined extends Eligibility {
  readonly view: AccountView;
}

/**
 * Undefined when a sample does not decide, so that all accounts must be examined. Pure except for
 * `random`.
 */
export function selectAccount(request: SelectionRequest): Selection | undefined {
  const examinations: Examination[] = [];
  for (const candidate of request.candidates) {
    const { model } = candidate.candidate;
    const pool = poolAvailabilityOf(candidate.poolHealth, model, request.nowMs);
    const closed = poolSkipReason(candidate, pool, request);
    if (closed === 'undecided') return undefined;
    const examined = candidate.accounts.map((view) => examine(view, model, closed, request));
    examinations.push({ candidate, examined });
    const choice = chooseAccount(examined, candidate, request);
    if (choice !== undefined) {
      const { view, probe = false } = choice.account;
      const reason = probe ? choiceTexts.probe : choice.reason;
      return { kind: 'chosen', candidate, view, reason, probe, poolProbe: pool.kind === 'probe_due', examinations };
    }
    // If the whole pool is unavailable, accounts outside the sample are too.
    if (candidate.sampled !== undefined && closed === undefined) return undefined;
  }
  if (request.candidates.some(({ sampled }) => sampled !== undefined)) return undefined;
  return { ...outcomeOf(examinations, request.nowMs), examinations };
}

/**
 * If no account of any candidate is known to have what the request asks for, one is asked anyway,
 * once: the client gets the provider's own answer, and an account that has it by now is found
 * immediately.
 */
export function askAnyway(selection: Selection, { attempts, random }: AskRequest): Selection {
  const isLacked = selection.kind === 'unavailable' && selection.lack !== undefined;
  if (!isLacked || attempts.some(({ report }) => isLack(report.result))) return selection;
  const { examinations } = selection;
  for (const { candidate, examined } of examinations) {
    const askable = examined.filter(({ lacksOnly }) => lacksOnly === true);
    const found = askable[Math.floor(random() * askable.length)];
    if (found === undefined) continue;
    const reason = choiceTexts.anyway;
    return { kind: 'chosen', candidate, view: found.view, reason, probe: false, poolProbe: false, examinations };
  }
  return selection;
}

type AskRequest = Pick<SelectionRequest, 'attempts' | 'random'>;

/** The reason that applies to every account of the pool. */
function poolSkipReason(
  candidate: CandidateView,
  pool: Availability,
  request: SelectionRequest,
): SkipReason | 'undecided' | undefined {
  if (pool.kind === 'cooling' || pool.kind === 'probing') {
    const { cooldown } = pool;
    const untilMs = pool.kind === 'cooling' ? cooldown.untilMs : pool.freeAtMs;
    return { kind: 'pool_paused', cooldown, untilMs, probeAtMs: untilMs };
  }
  const max = maxPerCaller(candidate, request);
  if (max === 'undecided') return 'undecided';
  const isUsedUp = candidate.callerShare !== undefined && candidate.callerShare.inFlight >= max;
  return isUsedUp ? { kind: 'share_used_up', retryAtMs: anyTime } : undefined;
}

/**
 * How many requests a caller may have in flight in a shared pool: enough that a reserve is left for
 * others, but never less than an equal part. Undecided when a sample does not show ample capacity.
 */
export function maxPerCaller(
  { accounts, candidate: { model }, callerShare, sampled }: CandidateView,
  { nowMs, rules: { callerReserveShare: callerReserve } }: Pick<SelectionRequest, 'nowMs' | 'rules'>,
): number | 'undecided' {
  // A single caller may use the whole pool.
  if (callerShare === undefined || callerShare.callers < 2) return Number.POSITIVE_INFINITY;
  const { callers, inFlight: own } = callerShare;
  const { capacity, free, quota, inFlight, serving } = supplyOf(accounts, model, nowMs);
  if (sampled !== undefined) {
    const hasPlaces = capacity === Number.POSITIVE_INFINITY || free > 2 * callerReserve * capacity;
    if (hasPlaces && (quota / serving) * sampled.usableShare > 2 * callerReserve) return Number.POSITIVE_INFINITY;
    return own === 0 ? 1 : 'undecided';
  }
  // Each caller may have at least one request in flight.
  const partOf = (whole: number) => Math.max(1, Math.floor(whole / callers));
  // An account without a cap always has free places.
  const spare = Number.isFinite(capacity) ? free - Math.floor(capacity * callerReserve) : Number.POSITIVE_INFINITY;
  const byPlaces = Math.max(partOf(capacity), own + spare);
  return quota / serving <= callerReserve ? Math.min(byPlaces, partOf(inFlight)) : byPlaces;
}

/**
 * The capacity of accounts for a model: requests in flight, quotas (each 0 to 1), and the places of
 * accounts that can take requests now.
 */
function supplyOf(accounts: CandidateView['accounts'], model: string, nowMs: number) {
  const serving = accounts.filter(({ account }) => account.state === 'active' && servesModel(account, model));
  const supply = { serving: serving.length, inFlight: 0, quota: 0, capacity: 0, free: 0 };
  for (const { account, health, inFlight } of serving) {
    const availability = availabilityOf(health, { model }, nowMs);
    const isLimited = availability.kind === 'cooling' && availability.limitOnly;
    supply.inFlight += inFlight;
    supply.quota += isLimited ? 0 : headroomOf(health, model, nowMs);
    if (availability.kind !== 'available') continue;
    supply.capacity += account.maxConcurrency;
    supply.free += Math.max(0, account.maxConcurrency - inFlight);
  }
  return supply;
}

function examine(
  view: AccountView,
  model: string,
  closed: SkipReason | undefined,
  request: SelectionRequest,
): Examined {
  const eligibility = eligibilityOf(view, { ...request, model }, request);
  if (closed === undefined) return { view, ...eligibility };
  // In a closed pool, waiting for a busy account does not help.
  const own = eligibility.skipReason?.kind === 'busy' ? undefined : eligibility.skipReason;
  return { view, skipReason: own ?? closed };
}

function chooseAccount(examined: readonly Examined[], candidate: CandidateView, request: SelectionRequest) {
  const { boundAccountId, sampled } = candidate;
  const { attempts, affinityKey } = request;
  const fit = examined.filter(({ skipReason }) => skipReason === undefined);
  const bound = fit.find(({ view }) => view.account.id === boundAccountId);
  if (bound !== undefined) return { account: bound, reason: choiceTexts.bound };
  // Not for a session, which would leave its account for the probe, and at most once per request.
  const mayProbeEarly = boundAccountId === undefined && attempts.length === 0;
  const early = mayProbeEarly ? drawEarly(examined, 'due', request) : undefined;
  if (early !== undefined) return early;
  const best = bestOf(fit, candidate, request);
  if (best !== undefined) {
    const chosenBy = affinityKey === '' ? choiceTexts.spare : choiceTexts.preferred;
    return { account: best, reason: fit.length === 1 && sampled === undefined ? choiceTexts.only : chosenBy };
  }
  // A request that would be refused may make up to three attempts to find an account that is
  // already back.
  if (sampled !== undefined || attempts.length >= 3) return undefined;
  // A provider's statement about an account is more certain than a guess.
  return drawEarly(examined, 'last_resort', request) ?? drawEarly(examined, 'due', request);
}

function drawEarly(examined: readonly Examined[], kind: EarlyProbe, { random }: SelectionRequest) {
  const due = examined.filter(({ early }) => early === kind);
  const account = due[Math.floor(random() * due.length)];
  return account && { account, reason: '' };
}

/**
 * Chooses among the least busy accounts: by the session's key, with some tolerance, or at random.
 */
function bestOf(fit: readonly Examined[], { candidate, sampled }: CandidateView, request: SelectionRequest) {
  const { model } = candidate;
  const { affinityKey, rules, nowMs } = request;
  const errorsOf = ({ view }: Examined) => errorAverageAt(view.health, nowMs);
  const isReliable = (each: Examined) => errorsOf(each) < rules.errorThreshold && !isDoubted(each.view.health, nowMs);
  const hasQuota = ({ view }: Examined) => headroomOf(view.health, model, nowMs) > rules.quotaReserveShare;
  const preferred = preferring(preferring(fit, isReliable), hasQuota);
  if (sampled !== undefined && !preferred.some((each) => isReliable(each) && hasQuota(each))) return undefined;
  if (preferred.length < 2) return preferred[0];
  // The accounts of a sample were already drawn by weight.
  const weightOf = ({ view }: Examined) => (sampled === undefined ? view.account.weight : 1);
  if (affinityKey === '') return drawLeastBusy(preferred, model, weightOf, request);
  // A session that a failure has just unbound would otherwise return, because its key still prefers
  // the same account.
  const settled = preferring(preferred, (each) => errorsOf(each) < freshErrorAverage);
  const loadOf = ({ view: { account, inFlight } }: Examined) => inFlight / account.weight;
  const least = Math.min(...settled.map(loadOf));
  const near = settled.filter((each) => loadOf(each) <= least + affinityTolerance);
  return preferredByKey(affinityKey, near, weightOf);
}

function preferring(examined: readonly Examined[], isPreferred: (each: Examined) => boolean): readonly Examined[] {
  const preferred = examined.filter(isPreferred);
  return preferred.length > 0 ? preferred : examined;
}

// Less than the average after a single failure, for about twenty seconds or until the next success.
const freshErrorAverage = 0.2;
// Concurrent requests of a new session share one account's cache, unless that account is busier
// than another by this share of its capacity.
const affinityTolerance = 0.25;

/**
 * One of the accounts with the fewest requests in flight relative to their share, drawn by share.
 */
function drawLeastBusy(
  accounts: readonly Examined[],
  model: string,
  weightOf: (each: Examined) => number,
  { nowMs, random }: SelectionRequest,
): Examined | undefined {
  const rated = accounts.map((each) => {
    const { account, health, inFlight } = each.view;
    const pace = paceOf(health, model, nowMs);
    return { each, load: inFlight / (account.weight * pace), share: weightOf(each) * pace };
  });
  const least = Math.min(...rated.map(({ load }) => load));
  const leastBusy = rated.filter(({ load }) => load === least);
  return drawByShare(leastBusy, ({ share }) => share, random())?.each;
}

/** The item at a place from 0 to below 1, of which each item occupies its share. */
export function drawByShare<T>(from: readonly T[], shareOf: (each: T) => number, place: number): T | undefined {
  let left = place * from.reduce((sum, each) => sum + shareOf(each), 0);
  const drawn = from.find((each) => {
    left -= shareOf(each);
    return left < 0;
  });
  return drawn ?? from.at(-1);
}

/**
 * Weighted rendezvous hashing: every replica picks the same account, and adding or removing one
 * moves only the keys that prefer it.
 */
function preferredByKey(key: string, accounts: readonly Examined[], weightOf: (each: Examined) => number) {
  const scored = accounts.map((each) => {
    const score = weightOf(each) / -Math.log(fractionOf(`${key}\n${each.view.account.id}`));
    return { each, score };
  });
  return scored.reduce((best, other) => (other.score > best.score ? other : best)).each;
}

/** A number strictly between 0 and 1 that depends only on the text. */
function fractionOf(text: string): number {
  const digest = hash('sha256', text, 'buffer');
  return (digest.readUIntBE(0, 6) + 0.5) / 2 ** 48;
}
