import type { Candidate } from '../catalog/resolve-model.ts';
import { earliestReset } from './earliest-reset.ts';
import { type AccountView, type Fitness, fitnessOf, type RequestHistory } from './fitness.ts';
import { preferredByKey } from './rendezvous.ts';

/** A candidate with the accounts of its pool. */
export interface CandidateView {
  readonly candidate: Candidate;
  readonly accounts: readonly AccountView[];
  /** The account that the affinity key is bound to in this pool. */
  readonly boundAccountId: string | undefined;
}

export interface SelectionRequest {
  /** In order of preference; only those that the request may use. */
  readonly candidates: readonly CandidateView[];
  /** Empty: no affinity. */
  readonly affinityKey: string;
  readonly history: RequestHistory;
  readonly nowMs: number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

export type Selection =
  | { readonly kind: 'chosen'; readonly candidate: CandidateView; readonly view: AccountView; readonly probe: boolean }
  /** Something is merely limited. `retryAtMs`: the earliest known reset. */
  | { readonly kind: 'exhausted'; readonly retryAtMs: number | undefined }
  | { readonly kind: 'unavailable' };

/** The account for a request: of the first candidate that has one to spare, or why there is none. Pure but for `random`. */
export function selectAccount(request: SelectionRequest): Selection {
  const { history, nowMs } = request;
  const obstacles = [];
  for (const candidate of request.candidates) {
    const examined = candidate.accounts.map((view) => ({
      view,
      fitness: fitnessOf(view, candidate.candidate.model, history, nowMs),
    }));
    const chosen = choose(examined.filter(isFit), candidate.boundAccountId, request);
    if (chosen !== undefined) {
      return { kind: 'chosen', candidate, view: chosen.view, probe: chosen.fitness.probe };
    }
    obstacles.push(...examined.flatMap(({ fitness }) => (fitness.kind === 'unfit' ? [fitness.obstacle] : [])));
  }
  return earliestReset(obstacles, nowMs);
}

interface FitAccount {
  readonly view: AccountView;
  readonly fitness: Extract<Fitness, { kind: 'fit' }>;
}

function isFit(examined: { readonly view: AccountView; readonly fitness: Fitness }): examined is FitAccount {
  return examined.fitness.kind === 'fit';
}

function choose(
  fit: readonly FitAccount[],
  boundAccountId: string | undefined,
  { affinityKey, random }: SelectionRequest,
): FitAccount | undefined {
  const bound = fit.find(({ view }) => view.account.id === boundAccountId);
  if (bound !== undefined) return bound;
  const least = Math.min(...fit.map(loadOf));
  if (affinityKey === '') {
    const equals = fit.filter((account) => loadOf(account) === least);
    return equals[Math.floor(random() * equals.length)];
  }
  const near = fit.filter((account) => loadOf(account) <= least + affinityTolerance);
  return preferredByKey(affinityKey, near, ({ view }) => view.account.id);
}

function loadOf({ view }: FitAccount): number {
  return view.inFlight / view.account.weight;
}

// The requests of a new session that come together go to one account, whose cache they then share, as long as it is no more
// than a quarter of its capacity busier than another.
const affinityTolerance = 0.25;
