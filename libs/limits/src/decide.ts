import { create } from '@bufbuild/protobuf';
import {
  type BudgetPeriod,
  type BudgetStatus,
  BudgetStatusSchema,
  ConcurrencySchema,
  type LimitStatus,
  LimitStatusSchema,
  type Refusal,
  RefusalSchema,
  RequestWindowSchema,
  TokenBudgetSchema,
} from '@gateway/proto/limiter/v2/limit_pb.js';
import type { AdmitResponse } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { endOfLocalDayMs, type LocalDay, msUntil } from '@gateway/time';
import type { Check, CounterName } from './limited-key.ts';
import { counterOf, hasRoom, type Meter, type MeterState, type Taken } from './meter.ts';
import { budgetSpan } from './span.ts';

/** Length of the sliding window. An entry made at instant t leaves at exactly t + 60,000 ms. */
export const WINDOW_MS = 60_000;

/** How long a lease of a running request is kept without being renewed. */
export const LEASE_MS = 15_000;

/**
 * How long a reservation is kept that is neither settled nor renewed: its edge is dead. The outbox
 * of an edge that starts again within this time settles it; a later one still charges the cost.
 */
export const RESERVED_MS = 30_000;

/** After this time, another request may have ended and returned its lease or what it reserved. */
const SOON_MS = 1_000;

/** After this time, a ledger that does not answer may do so again. */
const UNKNOWN_MS = 3_000;

/** The request is admitted unless there is a refusal. */
export type Decision = Pick<AdmitResponse, 'status' | 'refusal'> & {
  /** Absent without a group. */
  readonly groupStatus?: LimitStatus | undefined;
  /** Nothing is decided before the totals of these counters are loaded. Absent: all are. */
  readonly unloaded?: readonly CounterName[];
};

/** The answer to a request. `meters`: those of its key and of its group, as they were taken. */
export function decisionOf({ group }: Pick<Check, 'group'>, meters: readonly Meter[], taken: Taken): Decision {
  const { localDay, unloaded } = taken;
  if (unloaded.length > 0) return undecided(localDay, unloaded);
  const refusal = taken.isTaken ? undefined : refusalOf(meters, taken);
  if (group === undefined) return { status: limitStatus(meters, taken), refusal };
  // The meters of the key are kept with its group.
  return { status: limitStatus(meters, taken, true), refusal, groupStatus: limitStatus(meters, taken, false) };
}

/** The answer to a check that can't be decided before these counters have a total. */
export function undecided(localDay: LocalDay, unloaded: readonly CounterName[]): Decision {
  return { status: create(LimitStatusSchema, { localDay }), unloaded };
}

/**
 * Why a request is refused: by the limit that resets last, of those reached. A client that
 * retries at an earlier instant would be refused again.
 * @see spec "429 responses"
 */
export function refusalOf(meters: readonly Meter[], taken: Taken): Refusal | undefined {
  let last: Refusal | undefined;
  for (const [index, meter] of meters.entries()) {
    const state = stateAt(taken, index);
    if (hasRoom(meter, state)) continue;
    const retryAtMs = freeAtMs(meter, state, taken);
    if (last !== undefined && retryAtMs <= Number(last.retryAtMs)) continue;
    const { name: limit, period } = meter;
    const budget = period === undefined || state.isUnknown ? undefined : budgetStatus(meter, period, state, taken);
    last = create(RefusalSchema, { limit, retryAtMs, retryAfterMs: msUntil(retryAtMs, taken.nowMs), budget });
  }
  return last;
}

/** What is reserved, and what runs, may be free soon; what is used is so when its period ends. */
function freeAtMs(meter: Meter, { used, freeingMs, isUnknown }: MeterState, { nowMs, localDay }: Taken): number {
  if (meter.kind === 'window') return (freeingMs ?? nowMs) + WINDOW_MS;
  if (meter.kind === 'lease') return nowMs + SOON_MS;
  if (isUnknown) return nowMs + UNKNOWN_MS;
  const endMs = endOfLocalDayMs(counterOf(meter, localDay).span.lastDay);
  return used >= meter.limit && endMs > nowMs ? endMs : nowMs + SOON_MS;
}

/** @param isInGroup shows only meters that belong to a group, or only others. */
function limitStatus(meters: readonly Meter[], taken: Taken, isInGroup?: boolean): LimitStatus {
  const status = create(LimitStatusSchema, { localDay: taken.localDay });
  for (const [index, meter] of meters.entries()) {
    const state = stateAt(taken, index);
    const { kind, limit, period, groupKey } = meter;
    if (isInGroup !== undefined && isInGroup === (groupKey === undefined)) continue;
    if (kind === 'window') status.requests = requestWindow(limit, state, taken);
    else if (kind === 'lease') status.concurrency = create(ConcurrencySchema, { limit, running: state.used });
    else if (period === undefined) status.tokens = tokenBudget(limit, state, taken);
    else if (!state.isUnknown) status.budget = budgetStatus(meter, period, state, taken);
  }
  return status;
}

function stateAt({ states }: Taken, index: number): MeterState {
  const state = states[index];
  if (state === undefined) throw new Error('a store answered for too few meters');
  return state;
}

function requestWindow(limit: number, { used, newestMs, freeingMs }: MeterState, { nowMs }: Taken) {
  const freeMs = (enteredMs: number | undefined) => (enteredMs === undefined ? nowMs : enteredMs + WINDOW_MS);
  const emptyAtMs = freeMs(newestMs);
  const resetsAtMs = limit === 0 ? nowMs + WINDOW_MS : freeMs(freeingMs);
  const nextSlotAtMs = used < limit ? nowMs : freeMs(freeingMs);
  const window = create(RequestWindowSchema, {
    limit,
    remaining: Math.max(0, limit - used),
    emptyAtMs,
    emptyAfterMs: msUntil(emptyAtMs, nowMs),
    resetsAtMs,
    resetsAfterMs: msUntil(resetsAtMs, nowMs),
  });
  if (limit === 0) return window;
  window.nextSlotAtMs = nextSlotAtMs;
  window.nextSlotAfterMs = msUntil(nextSlotAtMs, nowMs);
  return window;
}

function tokenBudget(limit: number, { used }: MeterState, { localDay, nowMs }: Taken) {
  const resetsAtMs = endOfLocalDayMs(localDay);
  const remaining = Math.max(0, limit - used);
  return create(TokenBudgetSchema, { limit, remaining, resetsAtMs, resetsAfterMs: msUntil(resetsAtMs, nowMs) });
}

function budgetStatus(
  { limit: amountMicros }: Meter,
  period: BudgetPeriod,
  { used: spentMicros, reserved: reservedMicros }: MeterState,
  { localDay, nowMs }: Taken,
): BudgetStatus {
  const { firstDay, lastDay } = budgetSpan(period, localDay);
  const resetsAtMs = endOfLocalDayMs(lastDay);
  const resetsAfterMs = msUntil(resetsAtMs, nowMs);
  return create(BudgetStatusSchema, {
    amountMicros,
    spentMicros,
    reservedMicros,
    firstDay,
    resetsAtMs,
    resetsAfterMs,
  });
}

/** When data of a day can be dropped: requests admitted before its midnight may end hours later. */
export function dayForgottenAtMs(day: LocalDay): number {
  return endOfLocalDayMs(day) + 6 * 3_600_000;
}
