import { hash } from 'node:crypto';
import { servesModel } from '../accounts/account.ts';
import { availabilityOf, errorAverageAt, headroomOf, paceOf } from '../health/availability.ts';
import { type PoolAvailability, poolAvailabilityOf } from '../health/pool-health.ts';
import { shareIsUsedUp } from './fair-share.ts';
import type {
  AccountView,
  CandidateView,
  Examination,
  ExaminedAccount,
  Fitness,
  Obstacle,
  Selection,
  SelectionRequest,
} from './selection.ts';

/** The account for a request: of the first candidate that has one to spare, or why there is none. Pure but for `random`. */
export function selectAccount(request: SelectionRequest): Selection {
  const examinations: Examination[] = [];
  for (const candidate of request.candidates) {
    const pool = poolAvailabilityOf(candidate.poolHealth, candidate.candidate.model, request.nowMs);
    const closed = poolObstacle(candidate, pool, request);
    if (closed === 'undecided') return { kind: 'undecided', examinations };
    const examined = candidate.accounts.map((view) => examine(view, candidate.candidate.model, closed, request));
    examinations.push({ candidate, examined });
    const choice = chooseAccount(examined, candidate, request);
    if (choice !== undefined) {
      const { view, fitness } = choice.account;
      const probe = fitness.kind === 'unfit' || fitness.probe;
      const reason = probe ? 'to find out whether it is back' : choice.reason;
      return { kind: 'chosen', candidate, view, reason, probe, poolProbe: pool.kind === 'probe_due', examinations };
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
  // A place that may be free at any time is of no use there either.
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
 * Which of a candidate's accounts takes the request: the one that its session is bound to; else, now and then, one that
 * should be asked whether its far reset came early; else the best of those that are fit; and where there is none, one that may
 * be asked whether a guessed cooldown is over. Undefined when none may be asked for anything.
 */
function chooseAccount(
  examined: readonly ExaminedAccount[],
  candidate: CandidateView,
  request: SelectionRequest,
): Choice | undefined {
  const { boundAccountId, sampled } = candidate;
  const { attempts, affinityKey } = request;
  const fit = examined.filter(({ fitness }) => fitness.kind === 'fit');
  const bound = fit.find(({ view }) => view.account.id === boundAccountId);
  if (bound !== undefined) return { account: bound, reason: 'its session is bound to it' };
  // No session that would leave its account for it, and no request twice.
  const mayProbeEarly = boundAccountId === undefined && attempts.length === 0;
  const early = mayProbeEarly ? earlyProbe(examined, 'due', request) : undefined;
  if (early !== undefined) return early;
  const best = bestOf(fit, candidate, request);
  if (best !== undefined) {
    const chosenBy = affinityKey === '' ? 'it has as much to spare as any' : "its session's key prefers it";
    return { account: best, reason: fit.length === 1 && sampled === undefined ? 'the only one that could' : chosenBy };
  }
  if (sampled !== undefined || attempts.length >= mostLastResorts) return undefined;
  // What a provider said of an account is more certain than a guess.
  return earlyProbe(examined, 'last_resort', request) ?? earlyProbe(examined, 'due', request);
}

interface Choice {
  readonly account: ExaminedAccount;
  readonly reason: string;
}

/** A request that is to be refused may take so many attempts to find an account that is back already. */
const mostLastResorts = 3;

function earlyProbe(
  examined: readonly ExaminedAccount[],
  kind: 'due' | 'last_resort',
  { random }: SelectionRequest,
): Choice | undefined {
  const due = examined.filter(({ fitness }) => fitness.kind === 'unfit' && fitness.early === kind);
  const account = due[Math.floor(random() * due.length)];
  return account && { account, reason: '' };
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
  const hasQuota = ({ view }: ExaminedAccount) => headroomOf(view.health, model, nowMs) > rules.quotaReserveShare;
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

/**
 * The answer when no account can take a request. Exhausted as soon as one account is merely limited, with the earliest reset
 * of such accounts; but with none when one of them is only busy, or kept for others: a place may be free at any time, and a
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
  return { kind: 'exhausted', retryAtMs: earliestMs === anyTime ? undefined : earliestMs } as const;
}

const anyTime = Number.NEGATIVE_INFINITY;

/** When a limited account is free again. Undefined for one that is kept back by something else. */
function resetOf(obstacle: Obstacle, { nowMs, rules }: SelectionRequest): number | undefined {
  switch (obstacle.kind) {
    case 'cooling': {
      const { untilMs, givenByProvider } = obstacle.cooldown;
      if (!obstacle.limitOnly) return undefined;
      // After a guessed cooldown a single request finds out first, and it takes a while to know.
      return givenByProvider ? untilMs : untilMs + rules.limitProbeQuietMs;
    }
    case 'probing':
      return obstacle.limitOnly ? obstacle.freeAtMs : undefined;
    case 'busy':
    case 'share_used_up':
      return anyTime;
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
