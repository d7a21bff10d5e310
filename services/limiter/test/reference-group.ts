import { endOfLocalDayMs, type LocalDay, localDayOf } from '@gateway/time';
import { firstDayOf, lastDayOf } from './reference-periods.ts';

export type PlainPeriod = 'day' | 'week' | 'month';

export interface AllLimits {
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerDay?: number | undefined;
  readonly concurrentRequests?: number | undefined;
  readonly budget?: { readonly amount: number; readonly period: PlainPeriod } | undefined;
}

/** A key or its group, with its limits at the moment. */
export interface LimitedMember {
  readonly name: string;
  readonly limits: AllLimits;
  readonly isGroup: boolean;
}

interface Reached {
  readonly limit: string;
  readonly retryAtMs: number;
}

/** What happened to one request, in the order of time. */
interface Course {
  /** When it took a slot in each window. */
  readonly slots: Map<string, number>;
  /** Until when it has a place. */
  readonly places: Map<string, number>;
  /** What it reserved, by budget, and until when. */
  readonly reserved: Map<string, { readonly cost: number; readonly untilMs: number }>;
  /** What was charged, by counter, and when. */
  readonly charged: Map<string, { readonly amount: number; atMs: number }[]>;
  endedAtMs: number | undefined;
}

/**
 * The limits of keys and their group exactly as specified, derived from the courses of all requests
 * without regard for speed. Nothing is summed up as it happens.
 */
export class ReferenceGroup {
  readonly #courses = new Map<string, Course>();

  admit(requestId: string, members: readonly LimitedMember[], isBudgeted: boolean, nowMs: number) {
    const course = this.#courseOf(requestId);
    const isKnown = members.some(
      ({ name, limits }) =>
        (limits.requestsPerMinute !== undefined && this.#hasSlot(course, name, nowMs)) ||
        this.#hasPlace(course, name, nowMs),
    );
    if (isKnown || (!isPlain(members) && this.#hasEnded(course, nowMs))) return undefined;
    const refusal = this.#refusal(members, isBudgeted, nowMs);
    if (refusal !== undefined) return refusal;
    for (const { name, limits } of members) {
      if (limits.requestsPerMinute !== undefined) course.slots.set(name, nowMs);
      if (limits.concurrentRequests !== undefined && isBudgeted) course.places.set(name, nowMs + 15_000);
    }
    return undefined;
  }

  reserve(requestId: string, members: readonly LimitedMember[], day: LocalDay, cost: number, nowMs: number) {
    const course = this.#courseOf(requestId);
    const budgets = members.flatMap(({ name, limits: { budget } }) =>
      budget === undefined ? [] : [{ ...budget, counter: counterOf(name, budget.period, day) }],
    );
    const hasReserved = budgets.some(({ counter }) => this.#isReserved(course, counter, nowMs));
    if (cost === 0 || hasReserved || this.#hasEnded(course, nowMs)) return undefined;
    const refusals: Reached[] = [];
    for (const { amount, period, counter } of budgets) {
      const [spent, byOthers] = [this.spent(counter), this.reserved(counter, nowMs)];
      const crosses = spent < amount && byOthers === 0;
      if (spent + byOthers + cost > amount && !crosses) {
        const endMs = endOfLocalDayMs(lastDayOf(period, day));
        refusals.push({ limit: 'budget', retryAtMs: spent >= amount && endMs > nowMs ? endMs : nowMs + 1_000 });
      }
    }
    const refusal = refusals.toSorted((one, other) => other.retryAtMs - one.retryAtMs)[0];
    for (const { counter } of refusal === undefined ? budgets : [])
      course.reserved.set(counter, { cost, untilMs: nowMs + 30_000 });
    for (const { name } of refusal === undefined ? [] : members) {
      course.slots.delete(name);
      course.places.delete(name);
    }
    return refusal;
  }

  settle(
    requestId: string,
    members: readonly LimitedMember[],
    { day, tokens, cost, ended }: { day: LocalDay; tokens: number; cost: number; ended: boolean },
    nowMs: number,
  ): void {
    const course = this.#courseOf(requestId);
    for (const { name, limits } of members) {
      if (limits.tokensPerDay !== undefined) this.#charge(course, tokensOf(name, day), tokens, nowMs);
      if (limits.budget === undefined) continue;
      const counter = counterOf(name, limits.budget.period, day);
      this.#charge(course, counter, cost, nowMs);
      if (ended) course.reserved.delete(counter);
    }
    if (!ended) return;
    course.endedAtMs = nowMs;
    for (const { name } of members) course.places.delete(name);
  }

  /** Keeps what a running request has, as its edge knows it. */
  renew(
    requestId: string,
    members: readonly LimitedMember[],
    { localDay, cost }: { readonly localDay: LocalDay; readonly cost: number },
    nowMs: number,
  ): void {
    const course = this.#courseOf(requestId);
    if (this.#hasEnded(course, nowMs)) return;
    for (const { name, limits } of members) {
      if (limits.concurrentRequests !== undefined) course.places.set(name, nowMs + 15_000);
      if (limits.budget === undefined || cost === 0) continue;
      course.reserved.set(counterOf(name, limits.budget.period, localDay), { cost, untilMs: nowMs + 30_000 });
    }
  }

  spent(counter: string): number {
    const charged = [...this.#courses.values()].flatMap((course) => course.charged.get(counter) ?? []);
    return charged.reduce((sum, { amount }) => sum + amount, 0);
  }

  reserved(counter: string, nowMs: number): number {
    const live = [...this.#courses.values()].filter((course) => this.#isReserved(course, counter, nowMs));
    return live.reduce((sum, course) => sum + (course.reserved.get(counter)?.cost ?? 0), 0);
  }

  running(name: string, nowMs: number): number {
    return [...this.#courses.values()].filter((course) => this.#hasPlace(course, name, nowMs)).length;
  }

  inWindow(name: string, nowMs: number): number {
    return [...this.#courses.values()].filter((course) => this.#hasSlot(course, name, nowMs)).length;
  }

  #refusal(members: readonly LimitedMember[], isBudgeted: boolean, nowMs: number): Reached | undefined {
    const reached = members.flatMap((member) => this.#reached(member, isBudgeted, nowMs));
    const latestMs = Math.max(...reached.map(({ retryAtMs }) => retryAtMs));
    return reached.find(({ retryAtMs }) => retryAtMs === latestMs);
  }

  #reached({ name, limits, isGroup }: LimitedMember, isBudgeted: boolean, nowMs: number): readonly Reached[] {
    const { requestsPerMinute = Infinity, tokensPerDay = Infinity, concurrentRequests = Infinity, budget } = limits;
    const prefix = isGroup ? 'group_' : '';
    const today = localDayOf(nowMs);
    const isFull = this.inWindow(name, nowMs) >= requestsPerMinute;
    const window = isFull
      ? [{ limit: `${prefix}requests_per_minute`, retryAtMs: this.#roomAtMs(name, limits, nowMs) }]
      : [];
    if (!isBudgeted) return window;
    const isSpent = this.spent(tokensOf(name, today)) >= tokensPerDay;
    const counter = budget && counterOf(name, budget.period, today);
    const spent = counter === undefined ? 0 : this.spent(counter);
    const taken = counter === undefined ? 0 : spent + this.reserved(counter, nowMs);
    const budgetEndMs = budget && endOfLocalDayMs(lastDayOf(budget.period, today));
    return [
      ...window,
      ...(isSpent ? [{ limit: `${prefix}tokens_per_day`, retryAtMs: endOfLocalDayMs(today) }] : []),
      ...(budget && budgetEndMs && taken >= budget.amount
        ? [{ limit: 'budget', retryAtMs: spent >= budget.amount ? budgetEndMs : nowMs + 1_000 }]
        : []),
      ...(this.running(name, nowMs) >= concurrentRequests ? [{ limit: 'concurrency', retryAtMs: nowMs + 1_000 }] : []),
    ];
  }

  /** The first instant at which the window has room; a minute from now when it never has. */
  #roomAtMs(name: string, { requestsPerMinute = Infinity }: AllLimits, nowMs: number): number {
    if (requestsPerMinute === 0) return nowMs + 60_000;
    const leavingMs = [...this.#courses.values()].map((course) => (course.slots.get(name) ?? 0) + 60_000);
    const moments = leavingMs.filter((atMs) => atMs > nowMs).toSorted((one, other) => one - other);
    return moments.find((atMs) => this.inWindow(name, atMs) < requestsPerMinute) ?? nowMs;
  }

  #charge(course: Course, counter: string, amount: number, nowMs: number): void {
    const charged = course.charged.get(counter) ?? [];
    course.charged.set(counter, charged);
    const isRepeated = charged.some(({ atMs }) => atMs > nowMs - 120_000);
    if (amount > 0 && !isRepeated) charged.push({ amount, atMs: nowMs });
  }

  #hasSlot({ slots }: Course, name: string, nowMs: number): boolean {
    const takenMs = slots.get(name);
    return takenMs !== undefined && takenMs > nowMs - 60_000;
  }

  #hasPlace({ places }: Course, name: string, nowMs: number): boolean {
    return (places.get(name) ?? 0) > nowMs;
  }

  #isReserved({ reserved }: Course, counter: string, nowMs: number): boolean {
    return (reserved.get(counter)?.untilMs ?? 0) > nowMs;
  }

  #hasEnded({ endedAtMs }: Course, nowMs: number): boolean {
    return endedAtMs !== undefined && endedAtMs > nowMs - 120_000;
  }

  #courseOf(requestId: string): Course {
    return this.#courses.getOrInsertComputed(requestId, () => ({
      slots: new Map(),
      places: new Map(),
      reserved: new Map(),
      charged: new Map(),
      endedAtMs: undefined,
    }));
  }
}

export function counterOf(name: string, period: PlainPeriod, day: LocalDay): string {
  return `${period} ${firstDayOf(period, day)} ${name}`;
}

function tokensOf(name: string, day: LocalDay): string {
  return `tokens ${day} ${name}`;
}

/** Requests without places and reservations are admitted as if none had ended. */
function isPlain(members: readonly LimitedMember[]): boolean {
  return members.every(({ limits }) => limits.concurrentRequests === undefined && limits.budget === undefined);
}
