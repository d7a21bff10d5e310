import { Secret } from '@gateway/config';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sampleOAuthAccount as account, worldOf } from './__fixtures__/refresher-under-test.ts';
import { type Grant, type GrantStore, memoryGrants, newGrant } from './grants.ts';
import type { TokenAnswer, TokenEndpoint } from './token-endpoint.ts';

/** How a provider handles a refresh token that was used before. */
type Reuse =
  /** It is refused. Tokens obtained with it stay valid. */
  | 'refused'
  /** It counts as stolen: all tokens obtained with it are revoked. */
  | 'revokes'
  /** It works for some time, because networks lose answers. */
  | 'tolerated';

class ModelProvider {
  readonly #reuse: Reuse;
  readonly #parents = new Map<string, string>();
  #unused = new Set(['rt-0']);
  issued = 0;

  constructor(reuse: Reuse) {
    this.#reuse = reuse;
  }

  ask(refreshToken: string): TokenAnswer {
    const isUsed = !this.#unused.has(refreshToken);
    if (isUsed && this.#reuse === 'revokes') this.#unused = new Set();
    if (isUsed && this.#reuse !== 'tolerated') return { kind: 'invalid_grant' };
    this.#unused.delete(refreshToken);
    const n = ++this.issued;
    this.#unused.add(`rt-${n}`);
    this.#parents.set(`rt-${n}`, refreshToken);
    const secrets = { accessToken: new Secret(`at-${n}`), refreshToken: new Secret(`rt-${n}`) };
    return { kind: 'tokens', ...secrets, expiresAtMs: 3_600_000 };
  }

  takes(refreshToken: string): boolean {
    return this.#unused.has(refreshToken) || (this.#reuse === 'tolerated' && refreshToken === 'rt-0');
  }

  descends(refreshToken: string, from: string): boolean {
    const parent = this.#parents.get(refreshToken);
    return parent !== undefined && (parent === from || this.descends(parent, from));
  }
}

/**
 * Delays every call of the store as long as the scheduler likes, and records what was stored. Its
 * reservations exclude no replica.
 */
function scheduledStore(scheduler: fc.Scheduler) {
  const store = memoryGrants();
  const history: Grant[] = [];
  const slow: GrantStore = {
    read: scheduler.scheduleFunction((which) => store.read(which)),
    save: scheduler.scheduleFunction(async (which, grant) => {
      const saved = await store.save(which, grant);
      if (saved) history.push(grant);
      return saved;
    }),
    reserve: scheduler.scheduleFunction(async () => 'reserved' as const),
    release: async () => undefined,
    problems: () => store.problems(),
  };
  return { store: slow, history };
}

async function race(scheduler: fc.Scheduler, reuse: Reuse, replicas: number) {
  const provider = new ModelProvider(reuse);
  const { store, history } = scheduledStore(scheduler);
  const world = worldOf([], store);
  const ask = scheduler.scheduleFunction(async (token: string) => provider.ask(token));
  const answered = scheduler.scheduleFunction(async (answer: TokenAnswer) => answer);
  const endpoint: TokenEndpoint = async (_credential, token) => answered(await ask(token.reveal()));
  const refreshing = Promise.all(
    Array.from({ length: replicas }, () =>
      world.refresher(account, { endpoint }).newerThan(newGrant(account.credential)),
    ),
  );
  const grants = await scheduler.waitFor(refreshing);
  return { provider, grants, stored: history, last: history.at(-1) ?? expect.fail('nothing was stored') };
}

describe('replicas that each believe to have the reservation', () => {
  const anyReuse = fc.constantFrom<Reuse>('refused', 'revokes', 'tolerated');
  const anyReplicas = fc.integer({ min: 2, max: 4 });

  it('never put older tokens in the place of newer ones, and use none that are not stored', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), anyReuse, anyReplicas, async (scheduler, reuse, replicas) => {
        const { provider, grants, stored } = await race(scheduler, reuse, replicas);
        expect(stored.map(({ version }) => version)).toEqual(stored.map((_, index) => index + 1));
        const tokens = stored
          .filter(({ access }) => access !== undefined)
          .map(({ refreshToken }) => refreshToken.reveal());
        tokens.slice(1).forEach((token, index) => {
          expect(provider.descends(token, tokens[index] ?? '')).toBe(true);
        });
        for (const { access, problem } of grants) {
          if (access === undefined) expect(problem).toMatch(/invalid_grant/);
          else expect(stored.map((grant) => grant.access?.token.reveal())).toContain(access.token.reveal());
        }
      }),
      { numRuns: 150 },
    );
  });

  it('end with tokens that the provider takes, unless it revokes all for what comes twice', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), anyReuse, anyReplicas, async (scheduler, reuse, replicas) => {
        const { provider, last } = await race(scheduler, reuse, replicas);
        expect(last.problem).toBeUndefined();
        if (reuse !== 'revokes') expect(provider.takes(last.refreshToken.reveal())).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
