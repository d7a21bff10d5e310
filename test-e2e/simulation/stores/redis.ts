import { type LimitStore, MemoryLimitStore } from '@gateway/limits';
import { MemoryPoolStore } from '@gateway/pool-broker/store/memory-pool-store';
import type { PoolStore } from '@gateway/pool-broker/store/pool-store';
import type { World } from '../world/world.ts';

/**
 * What Redis keeps for limiters and brokers, as the product's scripts use it: each call is one
 * atomic step on the server's clock. The models are the product's stores of one process, which are
 * tested against those of Redis.
 */
export class RedisModel {
  readonly #world: World;
  readonly #limits: LoggedStore<LimitStore>;
  readonly #pools: LoggedStore<PoolStore>;

  /** When acknowledged writes were lost. */
  readonly losses: { readonly fromMs: number; readonly untilMs: number }[] = [];

  constructor(world: World) {
    this.#world = world;
    const clock = { nowMs: () => this.#nowMs };
    this.#limits = new LoggedStore(() => new MemoryLimitStore({ clock, maxKeys: 100_000 }), this.#atTime);
    this.#pools = new LoggedStore(() => new MemoryPoolStore(clock), this.#atTime);
  }

  get limits(): LimitStore {
    return this.#limits.store;
  }

  get pools(): PoolStore {
    return this.#pools.store;
  }

  /** A replica takes over that lacks what was acknowledged in the last `lostMs`. */
  failOver(lostMs: number): void {
    const untilMs = this.#world.nowMs - lostMs;
    this.losses.push({ fromMs: untilMs, untilMs: this.#world.nowMs });
    for (const logged of [this.#limits, this.#pools]) logged.rebuild(untilMs);
  }

  /** Everything is gone: `FLUSHALL`, or a restart without persistence. */
  empty(): void {
    this.failOver(Number.POSITIVE_INFINITY);
  }

  #replayedMs: number | undefined;

  get #nowMs(): number {
    return this.#replayedMs ?? Math.floor(this.#world.nowMs);
  }

  readonly #atTime = <T>(timeMs: number | undefined, act: () => T): T => {
    this.#replayedMs = timeMs;
    try {
      return act();
    } finally {
      this.#replayedMs = undefined;
    }
  };
}

interface LoggedCall {
  readonly atMs: number;
  readonly method: string;
  readonly given: readonly unknown[];
}

/** A store with the log of its calls, from which an earlier state is made again. */
class LoggedStore<T extends object> {
  readonly store: T;
  readonly #create: () => T;
  readonly #atTime: <R>(timeMs: number | undefined, act: () => R) => R;
  #current: T;
  #log: LoggedCall[] = [];

  constructor(create: () => T, atTime: <R>(timeMs: number | undefined, act: () => R) => R) {
    this.#create = create;
    this.#atTime = atTime;
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
      this.#atTime(atMs, () => void Promise.resolve(call(this.#current, method, given)).catch(() => undefined));
    }
  }

  #logged(method: string) {
    return (...given: unknown[]) => {
      this.#log.push({ atMs: Date.now(), method, given });
      return call(this.#current, method, given);
    };
  }
}

function call(store: object, method: string, given: readonly unknown[]): unknown {
  const act: unknown = Reflect.get(store, method);
  return typeof act === 'function' ? Reflect.apply(act, store, given) : undefined;
}
