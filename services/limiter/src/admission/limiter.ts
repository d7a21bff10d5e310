import { GatewayError } from '@gateway/errors';
import type { ReplicaPlace } from '@gateway/lifecycle/replica-share';
import { type Clock, type LocalDay, localDayOf } from '@gateway/time';
import type { LimiterEvents } from '../limiter-events.ts';
import { handOverAdmissions } from '../store/hand-over-admissions.ts';
import type {
  AdmitCheck,
  DayBaseUnknown,
  DayTotal,
  KnownDayBase,
  LimitStore,
  ReconciledDay,
  RecordedAdmission,
} from '../store/limit-store.ts';
import { dayState } from '../windows/day-budget.ts';
import type { Decision, LimitStatus } from '../windows/limit-status.ts';
import { areUnlimited, type CostKind, type Limits } from '../windows/limits.ts';
import type { DayReconciler } from './day-reconciler.ts';
import type { DayTotals } from './day-totals.ts';

export interface AdmissionRequest {
  readonly key: string;
  readonly requestId: string;
  readonly limits: Limits;
  readonly costKind: CostKind;
}

export interface SettleRequest {
  readonly key: string;
  readonly requestId: string;
  readonly localDay: LocalDay;
  readonly tokens: number;
}

export interface LimiterParts {
  readonly store: LimitStore;
  readonly dayTotals: DayTotals;
  readonly reconciler: DayReconciler;
  readonly clock: Clock;
  readonly events: LimiterEvents;
}

/** Holds keys to their limits. A store that lost a day's counter is given its base from the ledger. */
export class Limiter {
  readonly #store: LimitStore;
  readonly #dayTotals: DayTotals;
  readonly #reconciler: DayReconciler;
  readonly #clock: Clock;
  readonly #events: LimiterEvents;

  constructor({ store, dayTotals, reconciler, clock, events }: LimiterParts) {
    this.#reconciler = reconciler;
    this.#store = store;
    this.#dayTotals = dayTotals;
    this.#clock = clock;
    this.#events = events;
  }

  /** Answers at once when the store does and knows the day's base. */
  admit(request: AdmissionRequest): Promise<Decision> | Decision {
    if (areUnlimited(request.limits)) return { kind: 'admitted', status: this.#unlimited() };
    const answer = this.#store.admit(checkOf(request, this.#dayBaseOf(request.key)));
    return answer instanceof Promise
      ? answer.then((told) => this.#answered(request, told))
      : this.#answered(request, answer);
  }

  /** As `admit`, of many at once; answers in their order. */
  async admitAll(requests: readonly AdmissionRequest[]): Promise<readonly Decision[]> {
    const limited = requests.filter(({ limits }) => !areUnlimited(limits));
    const answers = await this.#store.admitAll(
      limited.map((request) => checkOf(request, this.#dayBaseOf(request.key))),
    );
    const decided: Decision[] = [];
    let next = 0;
    const decisions = requests.map((request) => {
      const answer = areUnlimited(request.limits) ? undefined : answers[next++];
      // What is not limited, or needs the ledger first, goes its own way.
      if (answer === undefined || isBaseUnknown(answer)) return this.admit(request);
      this.#noteUse(request, answer);
      decided.push(answer);
      return answer;
    });
    this.#events.decided(decided);
    return decided.length === decisions.length ? decided : Promise.all(decisions);
  }

  async peek(key: string, limits: Limits): Promise<LimitStatus> {
    if (areUnlimited(limits)) return this.#unlimited();
    const ask = (dayBase: KnownDayBase) => this.#store.peek({ key, limits, dayBase });
    const { status } = await this.#withDayBase(key, await ask(this.#dayBaseOf(key)), ask);
    if (limits.tokensPerDay !== undefined) this.#reconciler.noteUse(key, status.localDay);
    return status;
  }

  /** Adds the tokens to their day and answers the day's total; at once when the store does and knows the day's base. */
  settle(request: SettleRequest): Promise<number> | number {
    const state = dayState(request.localDay, this.#clock.nowMs());
    if (state === 'future') throw new GatewayError('invalid_request', 'local_day lies in the future.');
    // That day's budget limits nothing any more, and nothing is remembered of it.
    if (state === 'over') return request.tokens;
    const { key, requestId, localDay, tokens } = request;
    const total = this.#store.settle({ key, requestId, localDay, tokens, dayBase: this.#dayBaseOf(key) });
    return total instanceof Promise
      ? total.then((told) => this.#settled(request, told))
      : this.#settled(request, total);
  }

  /** Takes note that a replica of a caller lives, and of what it admitted by itself. Answers its place, when that is known. */
  async heartbeat(
    group: string,
    replicaId: string,
    own: readonly { readonly key: string; readonly admission: RecordedAdmission }[],
  ): Promise<ReplicaPlace | undefined> {
    const byKey = Map.groupBy(own, ({ key }) => key);
    const admissions = Array.from(byKey, ([key, ofKey]) => [key, ofKey.map(({ admission }) => admission)] as const);
    await handOverAdmissions(admissions, this.#store);
    return this.#store.heartbeat(group, replicaId);
  }

  /** Compares a day's counter with the ledger and puts it right. */
  async reconcile(key: string, localDay: LocalDay): Promise<ReconciledDay> {
    if (!this.#dayTotals.covers(key)) {
      throw new GatewayError('invalid_request', 'key must be of the form token:<id>: no ledger knows of others.');
    }
    if (dayState(localDay, this.#clock.nowMs()) !== 'open') {
      throw new GatewayError('invalid_request', 'local_day must be today or the day before.');
    }
    const reconciled = await this.#reconciler.reconcile(key, localDay);
    if (reconciled === undefined)
      throw new GatewayError('internal_error', 'The counter or the ledger does not answer.');
    return reconciled;
  }

  #answered(request: AdmissionRequest, answer: Decision | DayBaseUnknown): Promise<Decision> | Decision {
    return isBaseUnknown(answer) ? this.#admitWithBase(request, answer) : this.#decided(request, answer);
  }

  async #admitWithBase(request: AdmissionRequest, first: DayBaseUnknown): Promise<Decision> {
    const ask = (dayBase: KnownDayBase) => this.#store.admit(checkOf(request, dayBase));
    return this.#decided(request, await this.#withDayBase<Decision>(request.key, first, ask));
  }

  #decided(request: AdmissionRequest, decision: Decision): Decision {
    this.#events.decided([decision]);
    this.#noteUse(request, decision);
    return decision;
  }

  #settled({ key, localDay }: SettleRequest, { usedTokens, baseKnown }: DayTotal): Promise<number> | number {
    // Now rather than at the next admission, which would have to wait for it.
    if (!baseKnown) return this.#withLoadedBase(key, localDay, usedTokens);
    this.#reconciler.noteUse(key, localDay);
    return usedTokens;
  }

  async #withLoadedBase(key: string, localDay: LocalDay, usedTokens: number): Promise<number> {
    const base = await this.#dayTotals.load(key, localDay);
    return base === undefined ? usedTokens : this.#rememberBase(key, localDay, base);
  }

  /** Loads the day's base when the store lacks it, and asks again. Without an answer in time the day counts from zero. */
  async #withDayBase<T extends { readonly kind: string }>(
    key: string,
    first: T | DayBaseUnknown,
    ask: (dayBase: KnownDayBase) => Promise<T | DayBaseUnknown> | T | DayBaseUnknown,
  ): Promise<T> {
    let answer = first;
    // A second day base is missing only when midnight passed while the first was loaded.
    for (let attempt = 0; isBaseUnknown(answer); attempt++) {
      if (attempt === maxLoads) throw new Error('the local day changes with every call');
      const { localDay } = answer;
      const base = await this.#dayTotals.load(key, localDay);
      if (base !== undefined) await this.#rememberBase(key, localDay, base);
      answer = await ask((day) => (day === localDay ? (base ?? 0) : undefined));
    }
    return answer;
  }

  #dayBaseOf(key: string): KnownDayBase {
    return this.#dayTotals.covers(key) ? unknownBase : zeroBase;
  }

  #noteUse({ key, limits }: AdmissionRequest, { status }: Decision): void {
    if (limits.tokensPerDay !== undefined) this.#reconciler.noteUse(key, status.localDay);
  }

  #rememberBase(key: string, localDay: LocalDay, tokens: number): Promise<number> {
    this.#reconciler.noteBaseLoaded(key, localDay);
    return this.#store.rememberDayBase(key, localDay, tokens);
  }

  #unlimited(): LimitStatus {
    const localDay = localDayOf(this.#clock.nowMs());
    return { requests: undefined, tokens: undefined, localDay, degraded: false };
  }
}

const maxLoads = 2;
const unknownBase: KnownDayBase = () => undefined;
const zeroBase: KnownDayBase = () => 0;

function checkOf({ key, requestId, limits, costKind }: AdmissionRequest, dayBase: KnownDayBase): AdmitCheck {
  return { key, requestId, limits, costKind, dayBase };
}

function isBaseUnknown(answer: { readonly kind: string }): answer is DayBaseUnknown {
  return answer.kind === 'day_base_unknown';
}
