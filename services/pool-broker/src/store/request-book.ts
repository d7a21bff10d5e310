import type { CallerShare } from '../selection/fair-share.ts';
import type { Awaitable } from './awaitable.ts';

/** Which requests a pool has under way: since when, for which model and for whom. They begin and end with their leases. */
export interface RequestBook {
  /** When the oldest request began that is under way and no older than `sinceMs`. Undefined: there is none. */
  oldestRequest(question: SinceQuestion): Awaitable<number | undefined>;
  /** What a caller has of a pool. To ask counts it among those who want something of it. */
  shareOf(question: ShareQuestion): Awaitable<CallerShare>;
}

export interface NewRequest {
  readonly pool: string;
  readonly model: string;
  /** Empty: nobody's share is counted. */
  readonly caller: string;
}

export interface EndedRequest extends NewRequest {
  readonly leaseId: string;
}

export interface SinceQuestion {
  readonly pool: string;
  /** Empty: any. */
  readonly model: string;
  readonly sinceMs: number;
}

export interface ShareQuestion {
  readonly pool: string;
  readonly caller: string;
  readonly leaseTtlMs: number;
  /** How long a caller counts that asks for nothing more. */
  readonly callerMemoryMs: number;
}

/** More callers than this need not be told apart: the part of each is the smallest there is by then. */
export const maxCallers = 10_000;
