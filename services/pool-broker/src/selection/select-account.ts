import type { PoolSettings } from '@gateway/config';
import { type Account, servesModel } from '../accounts/account.ts';
import type { Attempt, AttemptResult } from '../accounts/attempt.ts';
import type { Candidate } from '../catalog/catalog.ts';
import type { AccountHealth, Cooldown } from '../health/account-health.ts';
import { availabilityOf } from '../health/availability.ts';
import {
  type PoolAvailability,
  type PoolHealth,
  poolAvailabilityOf,
  type TroubleCause,
} from '../health/pool-health.ts';
import type { CallerShare } from '../store/pool-store.ts';
import { chooseAccount } from './choose-account.ts';
import { shareIsUsedUp } from './fair-share.ts';

/** An account with what is known of it at the moment of choice. */
export interface AccountView {
  readonly account: Account;
  readonly health: AccountHealth;
  /** Requests in flight. */
  readonly inFlight: number;
}

/** A candidate with accounts of its pool. */
export interface CandidateView {
  readonly candidate: Candidate;
  readonly accounts: readonly AccountView[];
  /** Set when `accounts` is a sample. `usableShare`: of all that serve the model, those that are not known to be limited. */
  readonly sampled?: { readonly usableShare: number };
  readonly poolHealth: PoolHealth;
  /** The account that the affinity key is bound to in this pool. */
  readonly boundAccountId: string | undefined;
  /** What the caller has of the pool. Undefined when the request names no caller. */
  readonly callerShare: CallerShare | undefined;
}

export interface SelectionRequest {
  /** In order of preference; only those that the request may use. */
  readonly candidates: readonly CandidateView[];
  /** Empty: no affinity. */
  readonly affinityKey: string;
  /** The request's attempts so far, oldest first. */
  readonly attempts: readonly Attempt[];
  /** Accounts whose last place went to another request. */
  readonly overtakenAt: readonly string[];
  readonly rules: PoolSettings;
  readonly nowMs: number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

export type Selection = {
  /** What was found of each candidate that was looked at, in order. */
  readonly examinations: readonly Examination[];
} & (
  | Chosen
  /** Something is merely limited. `retryAtMs`: the earliest known reset. */
  | { readonly kind: 'exhausted'; readonly retryAtMs: number | undefined }
  | { readonly kind: 'unavailable' }
  /** The sample does not decide: all accounts have to be looked at. */
  | { readonly kind: 'undecided' }
);

export interface Chosen {
  readonly kind: 'chosen';
  readonly candidate: CandidateView;
  readonly view: AccountView;
  /** The request finds out whether the account is back, and must be the only one to do so. */
  readonly probe: boolean;
  /** The same of the pool as a whole. */
  readonly poolProbe: boolean;
}

/** The accounts of one candidate that were looked at. */
export interface Examination {
  readonly candidate: CandidateView;
  readonly examined: readonly ExaminedAccount[];
  readonly chosen: ExaminedAccount | undefined;
}

export interface ExaminedAccount {
  readonly view: AccountView;
  readonly fitness: Fitness;
}

/** Whether an account can take the request now, and if not, why. */
export type Fitness =
  /** `probe`: the request would find out whether a cooldown is over, and must be the only one to do so. */
  | { readonly kind: 'fit'; readonly probe: boolean }
  /** `early`: it cools, but one request may find out ahead of the end whether it still has to. */
  | { readonly kind: 'unfit'; readonly obstacle: Obstacle; readonly early?: 'due' | 'last_resort' };

/** Why an account can't take a request. */
export type Obstacle =
  /** `note`: why, where it is not the configuration that says so. */
  | { readonly kind: 'disabled'; readonly note: string }
  | { readonly kind: 'draining' | 'model_not_served' | 'busy' | 'share_used_up' }
  | { readonly kind: 'cooling'; readonly cooldown: Cooldown; readonly limitOnly: boolean }
  | { readonly kind: 'probing'; readonly cooldown: Cooldown; readonly freeAtMs: number; readonly limitOnly: boolean }
  | { readonly kind: 'pool_paused'; readonly cause: TroubleCause; readonly untilMs: number }
  | { readonly kind: 'tried'; readonly result: AttemptResult };

/** The account for a request: of the first candidate that has one to spare, or why there is none. Pure but for `random`. */
export function selectAccount(request: SelectionRequest): Selection {
  const examinations: Examination[] = [];
  for (const candidate of request.candidates) {
    const pool = poolAvailabilityOf(candidate.poolHealth, candidate.candidate.model, request.nowMs);
    const closed = poolObstacle(candidate, pool, request);
    if (closed === 'undecided') return { kind: 'undecided', examinations };
    const examined = candidate.accounts.map((view) => examine(view, candidate.candidate.model, closed, request));
    const chosen = chooseAccount(examined, candidate, request);
    examinations.push({ candidate, examined, chosen });
    if (chosen !== undefined) {
      const probe = chosen.fitness.kind === 'unfit' || chosen.fitness.probe;
      return {
        kind: 'chosen',
        candidate,
        view: chosen.view,
        probe,
        poolProbe: pool.kind === 'probe_due',
        examinations,
      };
    }
    // In a pool that is closed as a whole the other accounts would not do either.
    if (candidate.sampled !== undefined && closed === undefined) return { kind: 'undecided', examinations };
  }
  if (request.candidates.some(({ sampled }) => sampled !== undefined)) return { kind: 'undecided', examinations };
  return { ...earliestReset(examinations, request), examinations };
}

/** What keeps the request from every account of the pool. */
function poolObstacle(
  candidate: CandidateView,
  pool: PoolAvailability,
  request: SelectionRequest,
): Obstacle | 'undecided' | undefined {
  if (pool.kind === 'paused' || pool.kind === 'probing') {
    return { kind: 'pool_paused', cause: pool.cause, untilMs: pool.untilMs };
  }
  const { callerShare } = candidate;
  // A caller that is alone may use the pool up, and each may have one request in flight.
  if (callerShare === undefined || callerShare.callers < 2 || callerShare.inFlight === 0) return undefined;
  const isUsedUp = shareIsUsedUp(callerShare, candidate, request);
  if (isUsedUp === 'undecided') return 'undecided';
  return isUsedUp ? { kind: 'share_used_up' } : undefined;
}

function examine(
  view: AccountView,
  model: string,
  closed: Obstacle | undefined,
  request: SelectionRequest,
): ExaminedAccount {
  const fitness = fitnessOf(view, model, request);
  if (closed === undefined) return { view, fitness };
  // A place that may be free at any moment is of no use there either.
  const isOpen = fitness.kind === 'fit' || fitness.obstacle.kind === 'busy';
  return { view, fitness: unfit(isOpen ? closed : fitness.obstacle) };
}

function fitnessOf({ account, health, inFlight }: AccountView, model: string, request: SelectionRequest): Fitness {
  if (account.state === 'disabled') return unfit({ kind: 'disabled', note: account.note });
  if (account.state === 'draining') return unfit({ kind: 'draining' });
  if (!servesModel(account, model)) return unfit({ kind: 'model_not_served' });
  const availability = availabilityOf(health, model, request.nowMs);
  const tried = request.attempts.findLast(({ accountId, model: of }) => accountId === account.id && of === model);
  const isBusy = inFlight >= account.maxConcurrency || request.overtakenAt.includes(account.id);
  if (availability.kind === 'cooling') {
    const { early, ...obstacle } = availability;
    return early === 'not_yet' || isBusy || tried !== undefined ? unfit(obstacle) : { ...unfit(obstacle), early };
  }
  if (availability.kind === 'probing') return unfit(availability);
  if (tried !== undefined) return unfit({ kind: 'tried', result: tried.outcome.result });
  if (isBusy) return unfit({ kind: 'busy' });
  return { kind: 'fit', probe: availability.kind === 'probe_due' };
}

function unfit(obstacle: Obstacle): Extract<Fitness, { kind: 'unfit' }> {
  return { kind: 'unfit', obstacle };
}

/**
 * The answer when no account can take a request. Exhausted as soon as one account is merely limited, with the earliest reset
 * of such accounts; but with none when one of them is only busy, or kept for others: a place may be free at any moment, and a
 * client should not wait for hours then.
 * @see spec "Rate limits": `retryAt` is the earliest known reset when there is one
 */
function earliestReset(examinations: readonly Examination[], request: SelectionRequest) {
  const resets = examinations
    .flatMap(({ examined }) => examined)
    .map(({ fitness }) => (fitness.kind === 'unfit' ? resetOf(fitness.obstacle, request) : undefined))
    .filter((reset) => reset !== undefined);
  if (resets.length === 0) return { kind: 'unavailable' } as const;
  const earliestMs = Math.min(...resets);
  return { kind: 'exhausted', retryAtMs: earliestMs === anyMoment ? undefined : earliestMs } as const;
}

const anyMoment = Number.NEGATIVE_INFINITY;

/** When a limited account is free again. Undefined for one that is kept back by something else. */
function resetOf(obstacle: Obstacle, { nowMs, rules }: SelectionRequest): number | undefined {
  switch (obstacle.kind) {
    case 'cooling': {
      const { untilMs, givenByProvider } = obstacle.cooldown;
      if (!obstacle.limitOnly) return undefined;
      // After a guessed cooldown a single request finds out first, and it takes a moment to know.
      return givenByProvider ? untilMs : untilMs + rules.limitProbeQuietMs;
    }
    case 'probing':
      return obstacle.limitOnly ? obstacle.freeAtMs : undefined;
    case 'busy':
    case 'share_used_up':
      return anyMoment;
    case 'tried':
      // Limited when it was tried, and over by now.
      return obstacle.result === 'rate_limited' ? nowMs : undefined;
    case 'disabled':
    case 'draining':
    case 'model_not_served':
    case 'pool_paused':
      return undefined;
    default:
      return obstacle satisfies never;
  }
}
