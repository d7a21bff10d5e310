import { hash } from 'node:crypto';
import { errorAverageAt, headroomOf, paceOf } from '../health/availability.ts';
import type { AccountView, CandidateView, ExaminedAccount, SelectionRequest } from './select-account.ts';

/**
 * Which of a candidate's accounts takes the request: the one that its session is bound to; else, now and then, one that
 * should be asked whether its far reset came early; else the best of those that are fit; and where there is none, one that may
 * be asked whether a guessed cooldown is over. Undefined when none may be asked for anything.
 */
export function chooseAccount(
  examined: readonly ExaminedAccount[],
  candidate: CandidateView,
  request: SelectionRequest,
): ExaminedAccount | undefined {
  const { boundAccountId } = candidate;
  const { attempts } = request;
  const fit = examined.filter(({ fitness }) => fitness.kind === 'fit');
  const bound = fit.find(({ view }) => view.account.id === boundAccountId);
  if (bound !== undefined) return bound;
  // No session that would leave its account for it, and no request twice.
  const mayProbeEarly = boundAccountId === undefined && attempts.length === 0;
  const chosen = (mayProbeEarly ? earlyProbe(examined, 'due', request) : undefined) ?? bestOf(fit, candidate, request);
  if (chosen !== undefined || candidate.sampled !== undefined || attempts.length >= mostLastResorts) return chosen;
  // What a provider said of an account is more certain than a guess.
  return earlyProbe(examined, 'last_resort', request) ?? earlyProbe(examined, 'due', request);
}

/** A request that is to be refused may take so many attempts to find an account that is back already. */
const mostLastResorts = 3;

function earlyProbe(
  examined: readonly ExaminedAccount[],
  kind: 'due' | 'last_resort',
  { random }: SelectionRequest,
): ExaminedAccount | undefined {
  const due = examined.filter(({ fitness }) => fitness.kind === 'unfit' && fitness.early === kind);
  return due.length === 0 ? undefined : due[Math.floor(random() * due.length)];
}

/**
 * By the session's key among those that are about as busy as the least busy one, or else at random among the least busy. One
 * that a wish speaks against is taken only if all accounts were looked at.
 */
function bestOf(
  fit: readonly ExaminedAccount[],
  { candidate: { model }, sampled }: CandidateView,
  request: SelectionRequest,
): ExaminedAccount | undefined {
  const { affinityKey, rules, nowMs } = request;
  const errorsOf = ({ view }: ExaminedAccount) => errorAverageAt(view.health, nowMs);
  const isReliable = (each: ExaminedAccount) => errorsOf(each) < rules.errorThreshold;
  const hasQuota = ({ view }: ExaminedAccount) => headroomOf(view.health, model, nowMs) > rules.quotaReserve;
  const eligible = preferring(preferring(fit, isReliable), hasQuota);
  if (sampled !== undefined && !eligible.some((each) => isReliable(each) && hasQuota(each))) return undefined;
  if (eligible.length < 2) return eligible[0];
  // Accounts of a sample were drawn by weight already.
  const weightOf = ({ account }: AccountView) => (sampled === undefined ? account.weight : 1);
  if (affinityKey === '') return drawLeastBusy(eligible, model, weightOf, request);
  // A session that a failure has just set free would else go back, since its key prefers the same account as before.
  const calm = preferring(eligible, (each) => errorsOf(each) < errorsOfCalm);
  const loadOf = ({ view: { account, inFlight } }: ExaminedAccount) => inFlight / account.weight;
  const least = Math.min(...calm.map(loadOf));
  const near = calm.filter((each) => loadOf(each) <= least + affinityTolerance);
  return preferredByKey(affinityKey, near, weightOf);
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

// The requests of a new session that come together go to one account, whose cache they then share, as long as it is no more
// than a quarter of its capacity busier than another.
const affinityTolerance = 0.25;

/** One of those with the fewest requests in flight for their share; each as likely as its share says. */
function drawLeastBusy(
  eligible: readonly ExaminedAccount[],
  model: string,
  weightOf: (view: AccountView) => number,
  { nowMs, random }: SelectionRequest,
): ExaminedAccount | undefined {
  const rated = eligible.map((each) => {
    const { account, health, inFlight } = each.view;
    const pace = paceOf(health, model, nowMs);
    return { each, load: inFlight / (account.weight * pace), share: weightOf(each.view) * pace };
  });
  const least = Math.min(...rated.map(({ load }) => load));
  const leastBusy = rated.filter(({ load }) => load === least);
  let place = random() * leastBusy.reduce((sum, { share }) => sum + share, 0);
  const drawn = leastBusy.find(({ share }) => {
    place -= share;
    return place < 0;
  });
  return (drawn ?? leastBusy.at(-1))?.each;
}

/**
 * The account that a key prefers, by rendezvous hashing: every replica picks the same one, and taking another account away or
 * adding one moves only the keys that preferred it. An account of twice the weight is preferred by twice as many keys.
 */
function preferredByKey(
  key: string,
  accounts: readonly ExaminedAccount[],
  weightOf: (view: AccountView) => number,
): ExaminedAccount {
  const scored = accounts.map((each) => {
    const score = weightOf(each.view) / -Math.log(fractionOf(`${key}\n${each.view.account.id}`));
    return { each, score };
  });
  return scored.reduce((best, other) => (other.score > best.score ? other : best)).each;
}

/** A number between 0 and 1, never either, that is always the same for a text. */
function fractionOf(text: string): number {
  const digest = hash('sha256', text, 'buffer');
  return (digest.readUIntBE(0, 6) + 0.5) / 2 ** 48;
}
