import { errorAverageAt, headroomOf, paceOf } from '../health/availability.ts';
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
    (fit.length < examined.length && boundAccountId === undefined && request.history.attempts === 0
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
  if (fit.length < 2) return fit[0];
  const errorsOf = ({ view }: ExaminedAccount) => errorAverageAt(view.health, nowMs);
  const reliable = preferring(fit, (each) => errorsOf(each) < rules.errorThreshold);
  const eligible = preferring(reliable, ({ view }) => headroomOf(view.health, model, nowMs) > rules.quotaReserve);
  if (affinityKey === '') return drawLeastBusy(eligible, model, nowMs, random());
  // A session that a failure has just set free would else go back, since its key prefers the same account as before.
  const calm = preferring(eligible, (each) => errorsOf(each) < errorsOfCalm);
  const least = Math.min(...calm.map(({ view }) => loadOf(view)));
  const near = calm.filter(({ view }) => loadOf(view) <= least + affinityTolerance);
  return preferredByKey(affinityKey, near, {
    idOf: ({ view }) => view.account.id,
    weightOf: ({ view }) => view.account.weight,
  });
}

/** Those that meet a wish, or all when none does. */
function preferring(
  examined: readonly ExaminedAccount[],
  isPreferred: (each: ExaminedAccount) => boolean,
): readonly ExaminedAccount[] {
  const preferred = examined.filter(isPreferred);
  return preferred.length > 0 ? preferred : examined;
}

// Less than what a single failure leaves behind, for some twenty seconds or until the next success.
const errorsOfCalm = 0.2;

function loadOf({ account, inFlight }: AccountView): number {
  return inFlight / account.weight;
}

// The requests of a new session that come together go to one account, whose cache they then share, as long as it is no more
// than a quarter of its capacity busier than another.
const affinityTolerance = 0.25;

/** One of those with the fewest requests under way for their share; each as likely as its share says. */
function drawLeastBusy(
  eligible: readonly ExaminedAccount[],
  model: string,
  nowMs: number,
  value: number,
): ExaminedAccount | undefined {
  const shares: number[] = [];
  const leastBusy: ExaminedAccount[] = [];
  let least = Number.POSITIVE_INFINITY;
  let total = 0;
  for (const examined of eligible) {
    const { account, health, inFlight } = examined.view;
    const share = account.weight * paceOf(health, model, nowMs);
    const load = inFlight / share;
    if (load > least) continue;
    if (load < least) {
      least = load;
      total = 0;
      shares.length = 0;
      leastBusy.length = 0;
    }
    total += share;
    shares.push(share);
    leastBusy.push(examined);
  }
  let left = value * total;
  for (let at = 0; at < leastBusy.length; at += 1) {
    left -= shares[at] ?? 0;
    if (left < 0) return leastBusy[at];
  }
  return leastBusy.at(-1);
}
