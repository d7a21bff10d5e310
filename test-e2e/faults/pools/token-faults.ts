import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import type { Exchange } from './exchange.ts';
import { accountsOf, type ScenarioPool } from './gateway-file.ts';
import { chatStream, messagesWhole } from './kinds.ts';
import { oauthTimeoutMs, type PoolScene } from './pool-scene.ts';

/**
 * A token that is refused within half a minute is not replaced: another one would not be better.
 * Brokers count from the time when they receive it, which is later than the time when the provider
 * issued it.
 */
const leastAgeMs = 30_000;
const underWayMs = roomMs(5_000);

/**
 * Accounts whose access tokens the provider refuses, and brokers that die while they refresh
 * tokens.
 */
export function tokenFaults(
  scene: () => PoolScene,
  { rounds, isLong }: { readonly rounds: number; readonly isLong: boolean },
): void {
  describe('an account whose access token the provider refuses', () => {
    it('gets a new one, and the request is served with it', async () => {
      const [account = ''] = accountsOf('lonely');
      const { refreshes } = await withOldTokens(scene(), 'lonely');
      scene().simulator.oauth.expire(account);
      const { exchange, token } = await scene().askToEnd({ kind: messagesWhole('lonely') });
      expect(exchange.ending).toBe('whole');
      expect(familyOf(scene(), account)).toMatchObject({ refreshes: refreshes + 1, reuses: 0, revoked: false });
      await expect.poll(() => scene().rowsOf(token)).toHaveLength(1);
    });
  });

  describe('accounts whose access tokens are refused at every edge at once', () => {
    it('are refreshed by one of three brokers, once, and every request is served', async () => {
      // If a broker or an adapter missed something in one round, it shows in the next.
      for (let round = 0; round < rounds; round++) await refuseAtEveryEdge(scene());
    });
  });

  // It takes as long as a lock lasts.
  if (isLong) brokerDeath(scene);
}

function brokerDeath(scene: () => PoolScene): void {
  describe('a broker that dies while it refreshes an access token', () => {
    it('is followed by another when its lock ends, with the same refresh token and never at the same time', async () => {
      const [account = ''] = accountsOf('orphaned');
      const { simulator } = scene();
      const { refreshes } = await withOldTokens(scene(), 'orphaned');
      simulator.faults.add({ account, path: '/oauth/token', times: 1, fault: { kind: 'stall' } });
      simulator.oauth.expire(account);
      await scene().ask({ kind: messagesWhole('orphaned') });
      const refreshing = () => simulator.requests({ path: '/oauth/token', outcome: 'running' }).length;
      await expect.poll(refreshing, { interval: 20 }).toBe(1);
      await scene().replica('pool-broker', 0).kill();
      const ask = async () => (await scene().askToEnd({ kind: messagesWhole('orphaned'), edge: 1 })).exchange.ending;
      // The lock lasts four times the token endpoint's timeout. If an account was refused meanwhile
      // because no broker got a token for it, it is asked again as soon as there is one. If the
      // pool has no other account, it is asked every half minute.
      await expect.poll(ask, { timeout: 4 * oauthTimeoutMs + 2 * leastAgeMs, interval: 250 }).toBe('whole');
      const once = { refreshes: refreshes + 1, mostAtOnce: 1, reuses: 0, revoked: false };
      expect(familyOf(scene(), account)).toMatchObject(once);
      await scene().replica('pool-broker', 0).restart();
      await scene().answersAgain(0);
      expect((await scene().askToEnd({ kind: messagesWhole('orphaned') })).exchange.ending).toBe('whole');
      expect(familyOf(scene(), account)).toMatchObject(once);
    });
  });
}

async function refuseAtEveryEdge(scene: PoolScene): Promise<void> {
  const accounts = accountsOf('renewed');
  const { refreshes } = await withOldTokens(scene, 'renewed');
  // Slow enough that all brokers have asked for it before there is an answer.
  scene.simulator.faults.add({
    path: '/oauth/token',
    times: accounts.length,
    fault: { kind: 'delay', beforeHeadersMs: 500 },
  });
  const asked = await underLoad(scene, async () => {
    for (const account of accounts) scene.simulator.oauth.expire(account);
    await expect.poll(() => refreshesOf(scene, 'renewed')).toBe(refreshes + accounts.length);
  });
  expect([...new Set(asked.map(({ ending }) => ending))]).toEqual(['whole']);
  expect(refreshesOf(scene, 'renewed')).toBe(refreshes + accounts.length);
  for (const account of accounts) {
    expect(familyOf(scene, account)).toMatchObject({ mostAtOnce: 1, reuses: 0, revoked: false });
  }
}

function familyOf({ simulator }: PoolScene, account: string) {
  return (
    simulator.oauth.families().find((family) => family.account === account) ?? expect.fail(`no grant of ${account}`)
  );
}

function refreshesOf(scene: PoolScene, pool: ScenarioPool): number {
  return accountsOf(pool).reduce((sum, account) => sum + familyOf(scene, account).refreshes, 0);
}

/** Resolves when every account of a pool has an access token that may be replaced. */
async function withOldTokens(scene: PoolScene, pool: ScenarioPool): Promise<{ readonly refreshes: number }> {
  const accounts = accountsOf(pool);
  const haveTokens = async () => {
    await scene.askToEnd({ kind: messagesWhole(pool) });
    return accounts.every((account) => familyOf(scene, account).refreshes > 0);
  };
  await expect.poll(haveTokens).toBe(true);
  const lastRefreshMs = () =>
    Math.max(
      ...scene.simulator
        .requests({ path: '/oauth/token' })
        .filter(({ account }) => account !== null && accounts.includes(account))
        .map(({ endedAtMs }) => endedAtMs ?? Number.POSITIVE_INFINITY),
    );
  const isOld = () => Date.now() > lastRefreshMs() + leastAgeMs + underWayMs;
  await expect.poll(isOld).toBe(true);
  return { refreshes: refreshesOf(scene, pool) };
}

/** Three clients at each edge send requests until `injection` is over. */
async function underLoad(scene: PoolScene, injection: () => Promise<void>): Promise<readonly Exchange[]> {
  const stop = new AbortController();
  const asked: Exchange[] = [];
  const client = async (edge: number) => {
    const token = await scene.freshToken();
    while (!stop.signal.aborted) {
      asked.push((await scene.askToEnd({ kind: chatStream('renewed'), edge, token })).exchange);
      // The time identifies rows of one token.
      await sleep(20);
    }
  };
  const clients = Promise.all(Array.from({ length: 9 }, (_, n) => client(n % 3)));
  try {
    await injection();
  } finally {
    stop.abort();
    await clients;
  }
  return asked;
}
