import type { PoolSettings } from '@gateway/config';
import type { Candidate } from '../catalog/catalog.ts';
import { type PoolAvailability, poolAvailabilityOf } from '../health/availability.ts';
import type { PoolHealth } from '../health/pool-health.ts';
import { chooseAccount } from './choose-account.ts';
import { earliestReset } from './earliest-reset.ts';
import { type CallerShare, hasItsShare } from './fair-share.ts';
import { type AccountView, type Fitness, fitnessOf, type RequestHistory } from './fitness.ts';

/** A candidate with the accounts of its pool. */
export interface CandidateView {
  readonly candidate: Candidate;
  readonly accounts: readonly AccountView[];
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
  readonly history: RequestHistory;
  readonly rules: PoolSettings;
  readonly nowMs: number;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Is told of each candidate that was looked at, in order. */
  readonly onExamined?: (examination: Examination) => void;
}

/** What was found of the accounts of one candidate. */
export interface Examination {
  readonly candidate: CandidateView;
  readonly examined: readonly ExaminedAccount[];
  readonly chosen: ExaminedAccount | undefined;
}

export type Selection =
  | {
      readonly kind: 'chosen';
      readonly candidate: CandidateView;
      readonly view: AccountView;
      /** The request finds out whether the account is back, and must be the only one to do so. */
      readonly probe: boolean;
      /** The same of the pool as a whole. */
      readonly poolProbe: boolean;
    }
  /** Something is merely limited. `retryAtMs`: the earliest known reset. */
  | { readonly kind: 'exhausted'; readonly retryAtMs: number | undefined }
  | { readonly kind: 'unavailable' };

/** The account for a request: of the first candidate that has one to spare, or why there is none. Pure but for `random`. */
export function selectAccount(request: SelectionRequest): Selection {
  const obstacles = [];
  for (const candidate of request.candidates) {
    const examined = examineAccounts(candidate, request);
    const chosen = chooseAccount(examined, candidate, request);
    request.onExamined?.({ candidate, examined, chosen });
    if (chosen !== undefined) {
      const poolProbe = poolStateOf(candidate, request.nowMs).kind === 'probe_due';
      const probe = chosen.fitness.kind === 'unfit' || chosen.fitness.probe;
      return { kind: 'chosen', candidate, view: chosen.view, probe, poolProbe };
    }
    obstacles.push(...examined.flatMap(({ fitness }) => (fitness.kind === 'unfit' ? [fitness.obstacle] : [])));
  }
  return earliestReset(obstacles, request);
}

export interface ExaminedAccount {
  readonly view: AccountView;
  readonly fitness: Fitness;
}

/** Whether each account of a candidate can take the request, and if not, why. */
export function examineAccounts(
  candidate: CandidateView,
  request: Pick<SelectionRequest, 'history' | 'rules' | 'nowMs'>,
): readonly ExaminedAccount[] {
  const { model } = candidate.candidate;
  const { history, nowMs } = request;
  const closed = obstacleOfPool(candidate, request);
  return candidate.accounts.map((view) => {
    const fitness = fitnessOf(view, model, history, nowMs);
    if (closed === undefined) return { view, fitness };
    // A place that may be free at any moment is of no use there either.
    const isOpen = fitness.kind === 'fit' || fitness.obstacle.kind === 'busy';
    const obstacle = isOpen ? closed : fitness.obstacle;
    return { view, fitness: { kind: 'unfit', obstacle } };
  });
}

/** What keeps the request from every account of the pool. */
function obstacleOfPool(
  candidate: CandidateView,
  { rules, nowMs }: Pick<SelectionRequest, 'rules' | 'nowMs'>,
): Extract<Fitness, { kind: 'unfit' }>['obstacle'] | undefined {
  const pool = poolStateOf(candidate, nowMs);
  if (pool.kind === 'paused' || pool.kind === 'probing') {
    return { kind: 'pool_paused', cause: pool.cause, untilMs: pool.untilMs };
  }
  const { callerShare, accounts, candidate: of } = candidate;
  if (callerShare === undefined || !hasItsShare(callerShare, accounts, of.model, { nowMs, rules })) return undefined;
  return { kind: 'share_used_up' };
}

function poolStateOf({ poolHealth, candidate }: CandidateView, nowMs: number): PoolAvailability {
  return poolHealth.troubles.length === 0 ? open : poolAvailabilityOf(poolHealth, candidate.model, nowMs);
}

const open: PoolAvailability = { kind: 'open' };
