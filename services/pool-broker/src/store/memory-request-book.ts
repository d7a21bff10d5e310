import type { Clock } from '@gateway/time';
import type { CallerShare } from '../selection/fair-share.ts';
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
  /** Times of leases by what they are counted under: oldest first. */
  readonly #times = new Map<string, Map<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(request: BookedRequest): void {
    const nowMs = this.#clock.nowMs();
    for (const key of keysOf(request)) {
      const leases = this.#times.get(key) ?? new Map<string, number>();
      dropOlder(leases, nowMs - request.leaseTtlMs);
      leases.set(request.leaseId, nowMs);
      this.#times.set(key, leases);
    }
  }

  end(request: EndedRequest): void {
    for (const key of keysOf(request)) {
      const leases = this.#times.get(key);
      leases?.delete(request.leaseId);
      if (leases?.size === 0) this.#times.delete(key);
    }
  }

  oldest({ pool, model, sinceMs }: SinceQuestion): number | undefined {
    const times = this.#times.get(model === '' ? poolKey(pool) : modelKey(pool, model))?.values() ?? [];
    return [...times].find((timeMs) => timeMs >= sinceMs);
  }

  shareOf({ pool, caller, leaseTtlMs, callerMemoryMs }: ShareQuestion): CallerShare {
    const nowMs = this.#clock.nowMs();
    const key = JSON.stringify(['callers', pool]);
    const callers = this.#times.get(key) ?? new Map<string, number>();
    this.#times.set(key, callers);
    callers.delete(caller);
    callers.set(caller, nowMs);
    dropOlder(callers, nowMs - callerMemoryMs);
    const [oldest] = callers.keys();
    if (callers.size > maxCallers && oldest !== undefined) callers.delete(oldest);
    const leases = this.#times.get(callerKey(pool, caller));
    if (leases !== undefined) dropOlder(leases, nowMs - leaseTtlMs);
    return { inFlight: leases?.size ?? 0, callers: callers.size };
  }
}

function keysOf({ pool, model, caller }: EndedRequest): readonly string[] {
  const keys = [poolKey(pool), modelKey(pool, model)];
  return caller === '' ? keys : [...keys, callerKey(pool, caller)];
}

function poolKey(pool: string): string {
  return JSON.stringify(['pool', pool]);
}

function modelKey(pool: string, model: string): string {
  return JSON.stringify(['model', pool, model]);
}

function callerKey(pool: string, caller: string): string {
  return JSON.stringify(['caller', pool, caller]);
}
