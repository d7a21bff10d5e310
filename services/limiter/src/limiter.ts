import { create } from '@bufbuild/protobuf';
import {
  type Check,
  chargesOf,
  counterOf,
  type Decision,
  daySpan,
  type Heartbeat,
  type LimitStore,
  metersOf,
  type RemoteLimits,
  type ReplicaPlace,
  type Reservation,
  type SettledTotals,
  type Settlement,
} from '@gateway/limits';
import { LimitName, LimitStatusSchema, type Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import { epochMs, localDayOf } from '@gateway/time';
import type { CounterTotals } from './ledger/counter-totals.ts';
import type { LimiterMetrics } from './metrics.ts';

/**
 * Decides with its store, and with the ledger where that has the keys. An edge in the same process
 * calls it as it is; the network stands before it otherwise.
 */
export class Limiter implements RemoteLimits {
  readonly totals: CounterTotals;
  readonly #store: LimitStore;
  readonly #decisions: LimiterMetrics['decisions'];

  constructor(store: LimitStore, totals: CounterTotals, { decisions }: LimiterMetrics) {
    this.totals = totals;
    this.#store = store;
    this.#decisions = decisions;
  }

  /** Asks the store, which may need totals from the ledger first. */
  async admit(check: Check): Promise<Decision> {
    const meters = metersOf(check);
    if (meters.length === 0) return { status: create(LimitStatusSchema, { localDay: localDayOf(epochMs()) }) };
    const decision = await this.totals.ask(check, (covered) => this.#store.admit(covered));
    const { status, refusal } = decision;
    if (check.requestId !== '') this.#count(refusal);
    for (const meter of meters)
      if (status !== undefined && meter.kind === 'total') this.totals.noteUse(counterOf(meter, status.localDay));
    return decision;
  }

  async reserve(reservation: Reservation): Promise<Refusal | undefined> {
    const refusal = await this.#store.reserve(this.totals.covered(reservation));
    if (refusal !== undefined) this.#count(refusal);
    return refusal;
  }

  /** Totals that are missing are loaded now: otherwise the next admission would wait for them. */
  async settle(settlement: Settlement): Promise<SettledTotals> {
    const { totals } = this;
    const covered = totals.covered(settlement);
    const total = await this.#store.settle(covered);
    const note = settlement.late ? 'noteLateSettle' : 'noteUse';
    for (const { counter } of chargesOf(covered)) totals[note](counter);
    const ofKey = { key: settlement.key, groupKey: settlement.group?.key, span: daySpan(settlement.localDay) };
    const missing = [...(total.isLoaded ? [] : [ofKey]), ...(total.unloaded ?? [])];
    const [loaded] = await Promise.all(missing.map((counter) => totals.load(counter)));
    return total.isLoaded || loaded === undefined
      ? total
      : { ...total, usedTokens: loaded.usedTokensAfter, isLoaded: true };
  }

  renew(running: readonly Reservation[]): Promise<void> {
    return this.#store.renew(running.map((each) => this.totals.covered(each)));
  }

  heartbeat(beat: Heartbeat): Promise<ReplicaPlace | undefined> {
    return this.#store.heartbeat(beat);
  }

  #count(refusal: Refusal | undefined): void {
    this.#decisions.inc({ decision: refusal === undefined ? 'admitted' : LimitName[refusal.limit].toLowerCase() });
  }
}
