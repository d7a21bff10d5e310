import type { Claim, GrantKey, GrantStore, StoredGrant } from './grant-store.ts';

/** Grants of one process, gone with it. */
export class MemoryGrantStore implements GrantStore {
  readonly #grants = new Map<string, StoredGrant>();
  readonly #fences = new Map<string, number>();

  async read(key: GrantKey): Promise<StoredGrant | undefined> {
    return this.#grants.get(textOf(key));
  }

  async lastFence(key: GrantKey): Promise<number> {
    return this.#fences.get(textOf(key)) ?? 0;
  }

  async claim(key: GrantKey, fence: number): Promise<Claim> {
    if (fence <= (await this.lastFence(key))) return { kind: 'superseded' };
    this.#fences.set(textOf(key), fence);
    return { kind: 'claimed', grant: this.#grants.get(textOf(key)) };
  }

  async save(key: GrantKey, grant: StoredGrant): Promise<boolean> {
    const stored = this.#grants.get(textOf(key));
    if (stored?.tokens.text === grant.tokens.text) return stored.version === grant.version;
    if ((stored?.version ?? 0) !== grant.version - 1) return false;
    this.#grants.set(textOf(key), grant);
    return true;
  }

  async problems(keys: readonly GrantKey[]): Promise<ReadonlyMap<string, string>> {
    return new Map(
      keys.flatMap((key) => {
        const problem = this.#grants.get(textOf(key))?.problem;
        return problem === undefined ? [] : [[key.accountId, problem] as const];
      }),
    );
  }
}

function textOf({ accountId, origin }: GrantKey): string {
  return `${accountId} ${origin}`;
}
