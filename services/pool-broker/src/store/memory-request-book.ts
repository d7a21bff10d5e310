import type { Clock } from '@gateway/time';
import type { CallerShare } from '../selection/fair-share.ts';
import { ChainedMap } from './chained-map.ts';
import { dropOlder } from './drop-older.ts';
import {
  type BookedRequest,
  type EndedRequest,
  maxCallers,
  type ShareQuestion,
  type SinceQuestion,
} from './request-book.ts';

/** The requests under way of a single process. */
export class MemoryRequestBook {
  readonly #clock: Clock;
  readonly #pools = new Map<string, PoolBook>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin({ pool, model, caller, leaseId, leaseTtlMs }: BookedRequest): void {
    const book = this.#book(pool);
    const nowMs = this.#clock.nowMs();
    const note = (leases: Times) => {
      dropOlder(leases, nowMs - leaseTtlMs);
      leases.set(leaseId, nowMs);
    };
    note(book.requests);
    note(timesOf(book.byModel, model));
    if (caller !== '') note(timesOf(book.byCaller, caller));
  }

  end({ pool, model, caller, leaseId }: EndedRequest): void {
    const book = this.#book(pool);
    book.requests.delete(leaseId);
    forget(book.byModel, model, leaseId);
    if (caller !== '') forget(book.byCaller, caller, leaseId);
  }

  oldest({ pool, model, sinceMs }: SinceQuestion): number | undefined {
    const book = this.#book(pool);
    const times = model === '' ? book.requests : book.byModel.get(model);
    return times?.values().find((timeMs) => timeMs >= sinceMs);
  }

  shareOf({ pool, caller, leaseTtlMs, callerMemoryMs }: ShareQuestion): CallerShare {
    const nowMs = this.#clock.nowMs();
    const { callers, byCaller } = this.#book(pool);
    callers.set(caller, nowMs);
    dropOlder(callers, nowMs - callerMemoryMs);
    if (callers.size > maxCallers && callers.oldest !== undefined) callers.delete(callers.oldest.key);
    const leases = byCaller.get(caller);
    if (leases !== undefined) dropOlder(leases, nowMs - leaseTtlMs);
    return { inFlight: leases?.size ?? 0, callers: callers.size };
  }

  #book(pool: string): PoolBook {
    const known = this.#pools.get(pool);
    if (known !== undefined) return known;
    const book: PoolBook = {
      requests: new ChainedMap(),
      byModel: new Map(),
      byCaller: new Map(),
      callers: new ChainedMap(),
    };
    this.#pools.set(pool, book);
    return book;
  }
}

/** When something was, by its id: oldest first. */
type Times = ChainedMap<number>;

interface PoolBook {
  /** Leases with when they were taken. */
  readonly requests: Times;
  readonly byModel: Map<string, Times>;
  readonly byCaller: Map<string, Times>;
  /** Callers with when they last asked. */
  readonly callers: Times;
}

function timesOf(all: Map<string, Times>, name: string): Times {
  const known = all.get(name);
  if (known !== undefined) return known;
  const times: Times = new ChainedMap();
  all.set(name, times);
  return times;
}

function forget(all: Map<string, Times>, name: string, leaseId: string): void {
  const leases = all.get(name);
  leases?.delete(leaseId);
  if (leases?.size === 0) all.delete(name);
}
