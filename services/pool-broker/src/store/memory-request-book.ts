import type { Clock } from '@gateway/time';
import type { CallerShare } from '../selection/fair-share.ts';
import { Chain, type Link, linkOf } from './chain.ts';
import { maxCallers, type NewRequest, type ShareQuestion, type SinceQuestion } from './request-book.ts';

/** The requests under way of a single process. Each is a lease, which whoever keeps the leases begins and ends. */
export class MemoryRequestBook {
  readonly #clock: Clock;
  readonly #pools = new Map<string, PoolBook>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(lease: MemoryLease, { pool, model, caller }: NewRequest): void {
    const book = this.#book(pool);
    const requests = requestsFor(book, model);
    requests.leases.add(lease.inModel);
    lease.requests = requests;
    if (caller === '') return;
    lease.caller = callerOf(book, caller);
    lease.caller.inFlight += 1;
  }

  end({ requests, caller, inModel }: MemoryLease): void {
    if (requests !== undefined) {
      requests.leases.remove(inModel);
      // Clients may make up the names of models.
      if (requests.leases.oldest === undefined) requests.book.byModel.delete(requests.model);
    }
    if (caller !== undefined) {
      caller.inFlight -= 1;
      forgetIdle(caller);
    }
  }

  oldest({ pool, model, sinceMs }: SinceQuestion): number | undefined {
    const { byModel } = this.#book(pool);
    const asked = model === '' ? byModel.values().toArray() : [byModel.get(model)];
    const times = asked.map((requests) => oldestSince(requests, sinceMs)).filter((timeMs) => timeMs !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  shareOf({ pool, caller, callerMemoryMs }: ShareQuestion): CallerShare {
    const nowMs = this.#clock.nowMs();
    const book = this.#book(pool);
    const asking = callerOf(book, caller);
    noteAsking(asking, nowMs);
    for (let { oldest } = book.asking; oldest !== undefined; { oldest } = book.asking) {
      if (oldest.item.askedAtMs > nowMs - callerMemoryMs && book.callers <= maxCallers) break;
      forgetAsking(oldest.item);
    }
    return { inFlight: asking.inFlight, callers: book.callers };
  }

  #book(pool: string): PoolBook {
    const known = this.#pools.get(pool);
    if (known !== undefined) return known;
    const book: PoolBook = { byModel: new Map(), byCaller: new Map(), asking: new Chain(), callers: 0 };
    this.#pools.set(pool, book);
    return book;
  }
}

/** A lease under way, with what it counts in. */
export interface MemoryLease {
  readonly id: string;
  readonly takenAtMs: number;
  account: { inFlight: number } | undefined;
  requests: ModelRequests | undefined;
  caller: CallerRequests | undefined;
  /** Its place among the requests for its model. */
  readonly inModel: Link<MemoryLease>;
}

/** The requests under way for a model of a pool, oldest first. */
export interface ModelRequests {
  readonly book: PoolBook;
  readonly model: string;
  readonly leases: Chain<MemoryLease>;
}

/** What a caller has of a pool. */
export interface CallerRequests {
  readonly book: PoolBook;
  readonly id: string;
  inFlight: number;
  /** Whether it counts among those who want something of the pool, and when it last asked. */
  isAsking: boolean;
  askedAtMs: number;
  readonly inAsking: Link<CallerRequests>;
}

interface PoolBook {
  readonly byModel: Map<string, ModelRequests>;
  /** Those that want something of the pool, or have something of it. */
  readonly byCaller: Map<string, CallerRequests>;
  /** Those that want something, whoever asked longest ago first. */
  readonly asking: Chain<CallerRequests>;
  /** How many these are. */
  callers: number;
}

function requestsFor(book: PoolBook, model: string): ModelRequests {
  const known = book.byModel.get(model);
  if (known !== undefined) return known;
  const requests: ModelRequests = { book, model, leases: new Chain() };
  book.byModel.set(model, requests);
  return requests;
}

function oldestSince(requests: ModelRequests | undefined, sinceMs: number): number | undefined {
  for (let link = requests?.leases.oldest; link !== undefined; link = link.after) {
    if (link.item.takenAtMs >= sinceMs) return link.item.takenAtMs;
  }
  return undefined;
}

function callerOf(book: PoolBook, id: string): CallerRequests {
  const known = book.byCaller.get(id);
  if (known !== undefined) return known;
  const caller = new Caller(book, id);
  book.byCaller.set(id, caller);
  return caller;
}

function noteAsking(caller: CallerRequests, nowMs: number): void {
  const { book } = caller;
  if (caller.isAsking) book.asking.remove(caller.inAsking);
  else book.callers += 1;
  caller.isAsking = true;
  caller.askedAtMs = nowMs;
  book.asking.add(caller.inAsking);
}

function forgetAsking(caller: CallerRequests): void {
  caller.book.asking.remove(caller.inAsking);
  caller.book.callers -= 1;
  caller.isAsking = false;
  forgetIdle(caller);
}

function forgetIdle({ book, id, inFlight, isAsking }: CallerRequests): void {
  if (inFlight === 0 && !isAsking) book.byCaller.delete(id);
}

class Caller implements CallerRequests {
  readonly book: PoolBook;
  readonly id: string;
  inFlight = 0;
  isAsking = false;
  askedAtMs = 0;
  readonly inAsking: Link<CallerRequests> = linkOf<CallerRequests>(this);

  constructor(book: PoolBook, id: string) {
    this.book = book;
    this.id = id;
  }
}
