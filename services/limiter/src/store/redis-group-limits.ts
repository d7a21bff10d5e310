import {
  budgetSpan,
  type Check,
  type CounterName,
  chargesOf,
  type Decision,
  dayForgottenAtMs,
  daySpan,
  decisionOf,
  type KeyFacts,
  type Reservation,
  type RunningRequest,
  reservationRefusal,
  type SettledTotals,
  type Settlement,
  type Subject,
  settledTotals,
  subjectsOf,
  undecided,
} from '@gateway/limits';
import { BudgetPeriod, CostKind, type Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import { endOfLocalDayMs, type LocalDay, startOfLocalDayMs } from '@gateway/time';
import { counterKeys, redisKeys } from './redis-keys.ts';
import type { RedisScripts } from './redis-scripts.ts';

/**
 * Groups, budgets and requests at a time in Redis: each call is one script on keys with one hash
 * tag. Keys without these use smaller scripts.
 */
export class RedisGroupLimits {
  readonly #scripts: RedisScripts;

  constructor(scripts: RedisScripts) {
    this.#scripts = scripts;
  }

  /** Decides a request if this is Redis' local day. Otherwise returns Redis' time. */
  async admit(check: Check, localDay: LocalDay): Promise<Decision | number> {
    const { requestId, costKind } = check;
    const subjects = subjectsOf(check);
    const day = [startOfLocalDayMs(localDay), endOfLocalDayMs(localDay), this.#scripts.testTime];
    const terms = [...day, requestId, costKind === CostKind.REQUEST_ONLY ? 0 : 1];
    const keys = [redisKeys(groupOf(check)).ended, ...subjects.flatMap((subject) => keysOf(subject, localDay))];
    const numbers = await this.#scripts.run('admitAll', keys, [...terms, ...subjects.flatMap(limitsOf)]);
    const [kind = 0] = numbers;
    if (numbers.length === 1) return kind;
    const states = subjects.map((subject, n) => ({ subject, state: numbers.slice(9 * n + 1, 9 * n + 10) }));
    if (kind === 1)
      return undecided(
        localDay,
        states.flatMap(({ subject, state }) => unloadedOf(subject, state[0] ?? 0, localDay)),
      );
    const [facts, groupFacts] = states.map(({ state }) => factsFrom(state, localDay));
    if (facts === undefined) throw new Error('a Redis script returned too few values');
    return decisionOf(check, facts, kind === 2, groupFacts);
  }

  async reserve({ requestId, localDay, costMicros, ...terms }: Reservation): Promise<Refusal | undefined> {
    const subjects = subjectsOf(terms);
    const slots = subjects.map(redisKeys).flatMap(({ window, returned, places }) => [window, returned, places]);
    const limited = subjects.filter(({ limits }) => limits?.budget !== undefined);
    const budgets = limited.flatMap((subject) => {
      const { counter, reserved, reservedUntil } = counterKeys(budgetOf(subject, localDay));
      return [counter, reserved, reservedUntil];
    });
    const amounts = limited.flatMap(({ limits, hasLedger, isLedgerAway }) => [
      String(limits?.budget?.amountMicros),
      hasLedger || isLedgerAway ? 1 : 0,
    ]);
    const given = [requestId, costMicros, this.#scripts.testTime, ...amounts];
    const keys = [redisKeys(groupOf(terms)).ended, ...slots, ...budgets];
    const [nowMs = 0, refusedBy = 0, spentMicros = 0, reservedMicros = 0] = await this.#scripts.run(
      'reserve',
      keys,
      given,
    );
    if (refusedBy === 0) return undefined;
    const facts = { spentMicros, reservedMicros, isUnknown: spentMicros < 0 };
    return reservationRefusal(limited[refusedBy - 1]?.limits, facts, costMicros, { localDay, nowMs });
  }

  async settle(settlement: Settlement, maxPendingIds: number): Promise<SettledTotals> {
    const { requestId, ended } = settlement;
    const charges = chargesOf(settlement);
    const [ofKey, ofGroup = ofKey] = subjectsOf(settlement);
    if (ofKey === undefined || ofGroup === undefined) throw new Error('a settlement without a key');
    const places = [redisKeys(ofKey).places, redisKeys(ofGroup).places];
    const counters = charges.flatMap((charge) => {
      const { counter, pending, settled, reserved, reservedUntil } = counterKeys(charge.counter);
      return [counter, pending, settled, reserved, reservedUntil];
    });
    const terms = charges.flatMap(({ amount, hasLedger, counter }) => {
      return [amount, hasLedger ? 1 : 0, dayForgottenAtMs(counter.span.lastDay)];
    });
    const keys = [redisKeys(ofGroup).ended, ...places, ...counters];
    const given = [requestId, ended === true ? 1 : 0, maxPendingIds, this.#scripts.testTime, ...terms];
    const numbers = await this.#scripts.run('settleAll', keys, given);
    return settledTotals(
      charges.map(({ counter, total }, n) => {
        return { counter, total, amount: numbers[2 * n] ?? 0, isLoaded: numbers[2 * n + 1] === 1 };
      }),
    );
  }

  async renew(running: readonly RunningRequest[]): Promise<void> {
    await Promise.all(running.map((each) => this.#renewOne(each)));
  }

  async #renewOne({ key, groupKey, requestId, inKey, inGroup, reserved }: RunningRequest): Promise<void> {
    const ofGroup = { key: groupKey ?? key };
    const budget = counterKeys({ ...ofGroup, span: reserved?.span ?? noSpan });
    const places = [
      ...(inKey ? [redisKeys({ key, groupKey }).places] : []),
      ...(inGroup ? [redisKeys(ofGroup).places] : []),
    ];
    const keys = [redisKeys(ofGroup).ended, budget.reserved, budget.reservedUntil, ...places];
    const terms = [requestId, reserved?.micros ?? 0, this.#scripts.testTime];
    await this.#scripts.run('renew', keys, terms);
  }
}

/** Names keys that are not used. */
const noSpan = daySpan('1970-01-01');

/** Requests end for their key and its group together. */
function groupOf({ key, group }: Pick<Check, 'key' | 'group'>) {
  return { key: group?.key ?? key };
}

function keysOf(subject: Subject, localDay: LocalDay): readonly string[] {
  const { key, groupKey } = subject;
  const { window, places } = redisKeys(subject);
  const budget = counterKeys(budgetOf(subject, localDay));
  const day = counterKeys({ key, groupKey, span: daySpan(localDay) });
  return [window, day.counter, places, budget.counter, budget.reserved, budget.reservedUntil];
}

/** Without a budget, it names keys that are not used. */
function budgetOf({ key, groupKey, limits }: Subject, localDay: LocalDay): CounterName {
  return { key, groupKey, span: budgetSpan(limits?.budget?.period ?? BudgetPeriod.MONTH, localDay) };
}

function limitsOf({ limits = {}, hasLedger, isLedgerAway }: Subject): readonly (string | number)[] {
  const { requestsPerMinute = '', tokensPerDay, concurrentRequests = '', budget } = limits;
  const amount = budget?.amountMicros.toString() ?? '';
  const ledger = isLedgerAway ? 2 : hasLedger ? 1 : 0;
  return [requestsPerMinute, tokensPerDay?.toString() ?? '', concurrentRequests, amount, ledger];
}

/** What the script found unloaded: 1 the day, 2 the budget, 3 both. */
function unloadedOf(subject: Subject, found: number, localDay: LocalDay): readonly CounterName[] {
  const { key, groupKey } = subject;
  const day = { key, groupKey, span: daySpan(localDay) };
  return [...(found % 2 === 1 ? [day] : []), ...(found >= 2 ? [budgetOf(subject, localDay)] : [])];
}

function factsFrom(state: readonly number[], localDay: LocalDay): KeyFacts {
  const [unloaded = 0, nowMs = 0, count = 0, newest, freeing, usedTokens = 0, running = 0, ...budget] = state;
  const [spentMicros = 0, reservedMicros = 0] = budget;
  const requests = { count, newestMs: instantOf(newest), freeingMs: instantOf(freeing) };
  return {
    nowMs,
    localDay,
    requests,
    usedTokens,
    running,
    budget: { spentMicros, reservedMicros, isUnknown: unloaded >= 2 },
  };
}

/** A script's instant or number that may be missing. */
export function instantOf(replied = -1): number | undefined {
  return replied === -1 ? undefined : replied;
}
