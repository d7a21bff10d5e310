import { GatewayError } from '@gateway/errors';
import { type Clock, type LocalDay, localDayOf } from '@gateway/time';
import type { LimiterEvents } from '../limiter-events.ts';
import type { DayBaseUnknown, KnownDayBase, LimitStore, ReconciledDay } from '../store/limit-store.ts';
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

  async admit(request: AdmissionRequest): Promise<Decision> {
    if (areUnlimited(request.limits)) return { kind: 'admitted', status: this.#unlimited() };
    const decision = await this.#withDayBase(request.key, (dayBase) => this.#store.admit({ ...request, dayBase }));
    this.#events.decided([decision]);
    this.#noteUse(request, decision);
    return decision;
  }

  /** As `admit`, of many at once; answers in their order. */
  async admitAll(requests: readonly AdmissionRequest[]): Promise<readonly Decision[]> {
    const limited = requests.filter(({ limits }) => !areUnlimited(limits));
    const answers = await this.#store.admitAll(
      limited.map((request) => ({ ...request, dayBase: this.#dayBaseOf(request.key) })),
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
    return (await this.#withDayBase(key, (dayBase) => this.#store.peek({ key, limits, dayBase }))).status;
  }

  /** Adds the tokens to their day, at once, and answers the day's total. */
  async settle(request: SettleRequest): Promise<number> {
    const state = dayState(request.localDay, this.#clock.nowMs());
    if (state === 'future') throw new GatewayError('invalid_request', 'local_day lies in the future.');
    // That day's budget limits nothing any more, and nothing is remembered of it.
    if (state === 'over') return request.tokens;
    const { key, localDay } = request;
    const dayBase = this.#dayBaseOf(key);
    const { usedTokens, baseKnown } = await this.#store.settle({ ...request, dayBase });
    if (baseKnown) {
      this.#reconciler.noteUse(key, localDay);
      return usedTokens;
    }
    // Now rather than at the next admission, which would have to wait for it.
    const base = await this.#dayTotals.load(key, localDay);
    return base === undefined ? usedTokens : this.#rememberBase(key, localDay, base);
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

  /** Asks the store; loads the day's base when it lacks one. Without an answer in time the day counts from zero. */
  async #withDayBase<T extends { readonly kind: string }>(
    key: string,
    ask: (dayBase: KnownDayBase) => Promise<T | DayBaseUnknown>,
  ): Promise<T> {
    let dayBase = this.#dayBaseOf(key);
    // A second day base is missing only when midnight passed while the first was loaded.
    for (let attempt = 0; attempt < 3; attempt++) {
      const answer = await ask(dayBase);
      if (!isBaseUnknown(answer)) return answer;
      const { localDay } = answer;
      const base = await this.#dayTotals.load(key, localDay);
      if (base !== undefined) await this.#rememberBase(key, localDay, base);
      dayBase = (day) => (day === localDay ? (base ?? 0) : undefined);
    }
    throw new Error('the local day changes with every call');
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

const unknownBase: KnownDayBase = () => undefined;
const zeroBase: KnownDayBase = () => 0;

function isBaseUnknown(answer: { readonly kind: string }): answer is DayBaseUnknown {
  return answer.kind === 'day_base_unknown';
}
