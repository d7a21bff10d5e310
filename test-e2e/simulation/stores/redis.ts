import { type LimitStore, MemoryLimitStore, nameOf, type SettledTotals, type Settlement } from '@gateway/limits';
import { MemoryPoolStore } from '@gateway/pool-broker/store/memory-pool-store';
import type { PoolStore } from '@gateway/pool-broker/store/pool-store';
import type { World } from '../world/world.ts';
import { KnownLeases } from './known-leases.ts';

/**
 * What Redis keeps for limiters and brokers, as the product's scripts use it: each call is one
 * atomic step on the server's clock. The models are the product's stores of one process, which are
 * tested against those of Redis.
 */
export class RedisModel {
  readonly #world: World;
  readonly #limits: LoggedStore<LimitStore>;
  readonly #pools: LoggedStore<PoolStore>;

  readonly #pausedUntilMs = new Map<string, number>();

  readonly #settledAtMs = new Map<string, number>();
  /** Requests whose repeated settle added tokens, although the first one was remembered. */
  readonly settledTwice: { readonly requestId: string; readonly tokens: number }[] = [];

  /** When acknowledged writes were lost. */
  readonly losses: { readonly fromMs: number; readonly untilMs: number }[] = [];

  readonly leases: KnownLeases;

  constructor(world: World) {
    this.#world = world;
    this.leases = new KnownLeases(world);
    this.#limits = new LoggedStore(() => new MemoryLimitStore({ maxKeys: 100_000 }), world);
    this.#pools = new LoggedStore(() => new MemoryPoolStore(), world);
  }

  get limits(): LimitStore {
    const { store } = this.#limits;
    const pendingIds: LimitStore['pendingIds'] = async (counter, pauseMs) =>
      this.#isPaused(`${counter.span.name}/${nameOf(counter)}`, pauseMs)
        ? undefined
        : store.pendingIds(counter, pauseMs);
    const settle: LimitStore['settle'] = (settlement) => this.#settle(store, settlement);
    const own: Readonly<Record<string | symbol, unknown>> = { pendingIds, settle };
    return new Proxy(store, { get: (target, name) => own[name] ?? Reflect.get(target, name) });
  }

  /** Settles, and notes what a repeated settle adds. */
  async #settle(store: LimitStore, settlement: Settlement): Promise<SettledTotals> {
    const { key, localDay, requestId, tokens } = settlement;
    const name = `${localDay}/${key}/${requestId}`;
    // Nothing comes in between: each call has taken effect when it returns its promise.
    const before = store.settle({ ...settlement, requestId: '', tokens: 0, costMicros: 0, ended: false });
    const after = await store.settle(settlement);
    const added = after.usedTokens - (await before).usedTokens;
    const settledAtMs = this.#settledAtMs.get(name);
    if (settledAtMs === undefined) this.#settledAtMs.set(name, this.#nowMs);
    else if (added > 0 && this.#nowMs - settledAtMs < settledIdMs) this.settledTwice.push({ requestId, tokens });
    return after;
  }

  get pools(): PoolStore {
    const { store } = this.#pools;
    const settleLease: PoolStore['settleLease'] = (accountId, request) => {
      this.leases.noteEnd(request.leaseId);
      return store.settleLease(accountId, request);
    };
    return new Proxy(store, {
      get: (target, name) => (name === 'settleLease' ? settleLease : Reflect.get(target, name)),
    });
  }

  /** A replica takes over that lacks what was acknowledged in the last `lostMs`. */
  failOver(lostMs: number): void {
    const untilMs = this.#world.nowMs - lostMs;
    this.losses.push({ fromMs: untilMs, untilMs: this.#world.nowMs });
    for (const logged of [this.#limits, this.#pools]) logged.rebuild(untilMs);
    for (const [name, atMs] of this.#settledAtMs) if (atMs >= untilMs) this.#settledAtMs.delete(name);
  }

  /** Everything is gone: `FLUSHALL`, or a restart without persistence. */
  empty(): void {
    this.failOver(Number.POSITIVE_INFINITY);
  }

  /** One limiter at a time compares a day with the ledger: a key expires with its pause. */
  #isPaused(name: string, pauseMs: number): boolean {
    if (pauseMs === 0) return false;
    const isPaused = (this.#pausedUntilMs.get(name) ?? 0) > this.#nowMs;
    if (!isPaused) this.#pausedUntilMs.set(name, this.#nowMs + pauseMs);
    return isPaused;
  }

  get #nowMs(): number {
    return Math.floor(this.#world.nowMs);
  }
}

/** How long a settle is remembered: ADR 8. */
const settledIdMs = 120_000;

interface LoggedCall {
  readonly atMs: number;
  readonly method: string;
  readonly given: readonly unknown[];
}

/** A store with the log of its calls, from which an earlier state is made again. */
class LoggedStore<T extends object> {
  readonly store: T;
  readonly #create: () => T;
  readonly #world: World;
  #current: T;
  #log: LoggedCall[] = [];

  constructor(create: () => T, world: World) {
    this.#create = create;
    this.#world = world;
    this.#current = create();
    this.store = new Proxy({} as T, {
      get: (_target, method) => (typeof method === 'string' ? this.#logged(method) : undefined),
    });
  }

  rebuild(untilMs: number): void {
    this.#current = this.#create();
    this.#log = this.#log.filter(({ atMs }) => atMs <= untilMs);
    for (const { atMs, method, given } of this.#log) {
      // Every method has taken effect when it returns its promise.
      this.#world.atTime(atMs, () => void Promise.resolve(call(this.#current, method, given)).catch(() => undefined));
    }
  }

  #logged(method: string) {
    return (...given: unknown[]) => {
      const atMs = Math.floor(this.#world.nowMs);
      this.#log.push({ atMs, method, given });
      return this.#world.atTime(atMs, () => call(this.#current, method, given));
    };
  }
}

function call(store: object, method: string, given: readonly unknown[]): unknown {
  const act: unknown = Reflect.get(store, method);
  return typeof act === 'function' ? Reflect.apply(act, store, given) : undefined;
}
