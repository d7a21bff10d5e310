import type { NewRequest } from './request-book.ts';

/**
 * The keys of a store. Those of one account, or of one pool, share a hash tag. Each is made once, as long as it is among the
 * latest: a request needs a dozen, which are those of every other.
 */
export class RedisKeys {
  readonly #prefix: string;
  readonly #accounts = new Map<string, AccountKeys>();
  readonly #pools = new Map<string, PoolKeys>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  account(accountId: string): AccountKeys {
    return known(this.#accounts, accountId, () => {
      const tag = this.#tag('account', accountId);
      return { health: `${tag}:health`, leases: `${tag}:leases`, settled: `${tag}:settled` };
    });
  }

  pool(pool: string): PoolKeys {
    return known(this.#pools, pool, () => new PoolKeys(this.#tag('pool', pool)));
  }

  /** The sets that a request is in while it goes on. */
  requestSets({ pool, model, caller }: NewRequest): readonly string[] {
    const keys = this.pool(pool);
    const sets = [keys.requests, keys.model(model)];
    if (caller !== '') sets.push(keys.caller(caller));
    return sets;
  }

  binding(affinityId: string): string {
    return this.#tag('affinity', affinityId);
  }

  models(pool: string): string {
    return this.#tag('models', pool);
  }

  #tag(kind: string, id: string): string {
    return `${this.#prefix}{${kind}:${id}}`;
  }
}

export interface AccountKeys {
  readonly health: string;
  /** Leases under way, by when they were taken, or renewed last. */
  readonly leases: string;
  /** Leases that were settled, by when they were. */
  readonly settled: string;
}

export class PoolKeys {
  readonly health: string;
  /** Callers, by when they last asked. */
  readonly callers: string;
  /** Requests under way, by when they began; likewise those for a model. Those of a caller are kept as leases are. */
  readonly requests: string;
  readonly #tag: string;
  readonly #models = new Map<string, string>();
  readonly #callers = new Map<string, string>();

  constructor(tag: string) {
    this.#tag = tag;
    this.health = `${tag}:health`;
    this.callers = `${tag}:callers`;
    this.requests = `${tag}:requests`;
  }

  model(model: string): string {
    return known(this.#models, model, () => `${this.#tag}:model:${model}`);
  }

  caller(caller: string): string {
    return known(this.#callers, caller, () => `${this.#tag}:caller:${caller}`);
  }
}

function known<T>(all: Map<string, T>, name: string, make: () => T): T {
  const found = all.get(name);
  if (found !== undefined) return found;
  // Clients may make up the names of models, and callers come and go.
  if (all.size >= mostKept) all.clear();
  const made = make();
  all.set(name, made);
  return made;
}

const mostKept = 5_000;
