import { type BudgetPeriod, CostKind, LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { LocalDay } from '@gateway/time';
import {
  type Check,
  type CounterName,
  type LimitedKey,
  type Reservation,
  type Subject,
  subjectsOf,
} from './limited-key.ts';
import { budgetSpan, daySpan } from './span.ts';

/**
 * One limit of a key. A request takes all of its meters in one step, or none.
 *
 * - A window counts what was taken in any 60 seconds.
 * - A total is what was used in a period, and what running requests have reserved of it.
 * - A lease is taken until the request ends, and expires unless it is renewed.
 */
export interface Meter extends LimitedKey {
  readonly name: LimitName;
  readonly kind: 'window' | 'total' | 'lease';
  readonly limit: number;
  /** What the request takes: a slot, a lease, or a part of a total until it settles. 0: nothing. */
  readonly cost: number;
  /** Otherwise its state is only reported. */
  readonly refuses: boolean;
  /** Whether running requests reserve a part of the total. */
  readonly isReserved: boolean;
  /** That of a total of money. Absent: it counts the tokens of a day. */
  readonly period?: BudgetPeriod | undefined;
  /**
   * Where the part of a total comes from that the store may lack. `needed`: nothing is decided
   * before the ledger's total is loaded. `away`: the ledger does not answer, so tokens count from
   * zero, and money without a total refuses. `none`: it starts at zero.
   */
  readonly ledger: 'none' | 'needed' | 'away';
}

/** What a store knows about a meter at one instant. */
export interface MeterState {
  /** Entries of a window, tokens or money of a total, or leases. */
  readonly used: number;
  /** What running requests have reserved of a total. */
  readonly reserved: number;
  /** Instant of the newest entry; undefined when the window is empty. */
  readonly newestMs?: number | undefined;
  /**
   * Instant of the entry that frees the next slot when it leaves: the oldest, or a later one when
   * the limit was lowered below the count. Undefined when the window is empty or the limit is 0.
   */
  readonly freeingMs?: number | undefined;
  /** What was used before is lost, and the ledger does not answer: all of it may be used. */
  readonly isUnknown?: boolean;
}

/** The answer of a store to a request that takes meters: all were taken, or none. */
export interface Taken {
  /** The store's clock. After it was set back, entries may lie ahead of it. */
  readonly nowMs: number;
  /** The local day by the store's clock. */
  readonly localDay: LocalDay;
  /** Also true for a request that had taken them before, and for one that takes nothing. */
  readonly isTaken: boolean;
  /** In the order of the meters, after the request took them. */
  readonly states: readonly MeterState[];
  /** Totals to load before anything can be decided. */
  readonly unloaded: readonly CounterName[];
}

/** The meters of a request, in the order in which they are named when several are reached. */
export function metersOf(check: Omit<Check, 'knownTotals'>): readonly Meter[] {
  const takes = check.requestId !== '';
  const isWhole = takes && check.costKind !== CostKind.REQUEST_ONLY;
  const meters: Meter[] = [];
  for (const subject of subjectsOf(check)) {
    const { requestsPerMinute, tokensPerDay, budget, concurrentRequests, strictTokens } = subject.limits ?? {};
    const isGroup = check.group !== undefined && subject.groupKey === undefined;
    const { requests, tokens } = isGroup ? namesOfGroup : namesOfKey;
    if (requestsPerMinute !== undefined) {
      meters.push(meterOf(subject, requests, 'window', requestsPerMinute, takes, takes ? 1 : 0));
    }
    if (tokensPerDay !== undefined) {
      meters.push(meterOf(subject, tokens, 'total', tokensPerDay, isWhole, 0, strictTokens));
    }
    if (budget !== undefined) {
      const { amountMicros, period } = budget;
      meters.push(meterOf(subject, LimitName.BUDGET, 'total', amountMicros, isWhole, 0, true, period));
    }
    if (concurrentRequests !== undefined) {
      meters.push(meterOf(subject, LimitName.CONCURRENCY, 'lease', concurrentRequests, isWhole, isWhole ? 1 : 0));
    }
  }
  return meters;
}

/**
 * The totals of which a request reserves a part until it ends. The ledger's totals were loaded at
 * its admission.
 */
export function reservedMetersOf({ costMicros, tokens = 0, ...terms }: Reservation): readonly Meter[] {
  const costOf = ({ period }: Meter) => (period === undefined ? tokens : costMicros);
  return metersOf({ ...terms, costKind: CostKind.REQUEST_AND_TOKENS })
    .filter(({ isReserved }) => isReserved)
    .map((meter): Meter => ({ ...meter, cost: costOf(meter), ledger: meter.ledger === 'none' ? 'none' : 'away' }))
    .filter(({ cost }) => cost > 0);
}

/** What a running request holds: its leases, and what it has reserved. */
export function heldMetersOf(running: Reservation): readonly Meter[] {
  const admitted = metersOf({ ...running, costKind: CostKind.REQUEST_AND_TOKENS });
  return [...admitted.filter(({ kind }) => kind === 'lease'), ...reservedMetersOf(running)];
}

/** Whether running requests hold a part of a meter, which they return at their end. */
export function isHeld({ kind, isReserved }: Meter): boolean {
  return kind === 'lease' || isReserved;
}

/** The counter of a total on a day. */
export function counterOf({ key, groupKey, period }: Meter, day: LocalDay): CounterName {
  return { key, groupKey, span: period === undefined ? daySpan(day) : budgetSpan(period, day) };
}

/**
 * Whether a request may take a meter. A request that alone does not fit crosses a total that is not
 * used up if nothing else is reserved: otherwise the last part of it could never be used.
 */
export function hasRoom({ kind, limit, cost, refuses }: Meter, state: MeterState): boolean {
  const { used, reserved, isUnknown = false } = state;
  if (!refuses) return true;
  if (kind !== 'total') return used + cost <= limit;
  if (isUnknown) return false;
  if (cost === 0) return used + reserved < limit;
  return used + reserved + cost <= limit || (reserved === 0 && used < limit);
}

const namesOfKey = { requests: LimitName.REQUESTS_PER_MINUTE, tokens: LimitName.TOKENS_PER_DAY };
const namesOfGroup = { requests: LimitName.GROUP_REQUESTS_PER_MINUTE, tokens: LimitName.GROUP_TOKENS_PER_DAY };

function meterOf(
  { key, groupKey, hasLedger, isLedgerAway }: Subject,
  name: LimitName,
  kind: Meter['kind'],
  limit: number,
  refuses: boolean,
  cost: number,
  isReserved = false,
  period?: BudgetPeriod,
): Meter {
  const ledger = isLedgerAway ? 'away' : hasLedger ? 'needed' : 'none';
  return { key, groupKey, name, kind, limit, cost, refuses, isReserved, period, ledger };
}
