import { headroomOf, paceOf } from '../health/quota-windows.ts';
import type { AccountView } from './fitness.ts';
import { preferredByKey } from './rendezvous.ts';
import type { CandidateView, ExaminedAccount, SelectionRequest } from './select-account.ts';

/**
 * Which of a candidate's accounts takes the request: the one that its session is bound to; else, now and then, one that
 * should be asked whether its far reset came early; else the best of those that are fit; and where none is, one that may be
 * asked whether a cooldown of our own making is over. Undefined when none may be asked for anything.
 */
export function chooseAccount(
  examined: readonly ExaminedAccount[],
  { candidate, boundAccountId }: CandidateView,
  request: SelectionRequest,
): ExaminedAccount | undefined {
  const fit = examined.filter(({ fitness }) => fitness.kind === 'fit');
  const bound = boundAccountId === undefined ? undefined : fit.find(({ view }) => view.account.id === boundAccountId);
  return (
    bound ??
    // No session that would leave its account for it, and no request twice.
    (boundAccountId === undefined && request.history.attempts === 0
      ? earlyProbe(examined, 'due', request)
      : undefined) ??
    bestOf(fit, candidate.model, request) ??
    (request.history.attempts < mostLastResorts ? lastResort(examined, request) : undefined)
  );
}

/** A request that is to be refused may take so many attempts to find an account that is back already. */
const mostLastResorts = 3;

/** What a provider said of an account is more certain than what we made up. */
function lastResort(examined: readonly ExaminedAccount[], request: SelectionRequest): ExaminedAccount | undefined {
  return earlyProbe(examined, 'last_resort', request) ?? earlyProbe(examined, 'due', request);
}

function earlyProbe(
  examined: readonly ExaminedAccount[],
  kind: 'due' | 'last_resort',
  { random }: SelectionRequest,
): ExaminedAccount | undefined {
  const due = examined.filter(({ fitness }) => fitness.kind === 'unfit' && fitness.early === kind);
  return due.length === 0 ? undefined : due[Math.floor(random() * due.length)];
}

/** By the session's key among those that are about as busy as the least busy one, or else at random among the least busy. */
function bestOf(
  fit: readonly ExaminedAccount[],
  model: string,
  { affinityKey, random, rules, nowMs }: SelectionRequest,
): ExaminedAccount | undefined {
  const roomy = fit.filter(({ view }) => headroomOf(view.health, model, nowMs) > rules.quotaReserve);
  const eligible = (roomy.length > 0 ? roomy : fit).map((examined) => {
    const share = examined.view.account.weight * paceOf(examined.view.health, model, nowMs);
    return { examined, share };
  });
  if (affinityKey === '') {
    const least = Math.min(...eligible.map(({ examined, share }) => examined.view.inFlight / share));
    const equals = eligible.filter(({ examined, share }) => examined.view.inFlight / share === least);
    return drawByShare(equals, random())?.examined;
  }
  const least = Math.min(...eligible.map(({ examined }) => loadOf(examined.view)));
  const near = eligible.filter(({ examined }) => loadOf(examined.view) <= least + affinityTolerance);
  return preferredByKey(affinityKey, near, {
    idOf: ({ examined }) => examined.view.account.id,
    weightOf: ({ examined }) => examined.view.account.weight,
  })?.examined;
}

function loadOf({ account, inFlight }: AccountView): number {
  return inFlight / account.weight;
}

// The requests of a new session that come together go to one account, whose cache they then share, as long as it is no more
// than a quarter of its capacity busier than another.
const affinityTolerance = 0.25;

/** Draws one; each as likely as its share says. */
function drawByShare<T extends { readonly share: number }>(items: readonly T[], value: number): T | undefined {
  const total = items.reduce((sum, { share }) => sum + share, 0);
  let left = value * total;
  for (const item of items) {
    left -= item.share;
    if (left < 0) return item;
  }
  return items.at(-1);
}
