import { setTimeout as sleep } from 'node:timers/promises';
import { Secret } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import {
  sampleOAuthAccount as account,
  sampleCredential,
  tokensNumbered,
  worldOf,
} from '../__fixtures__/refresher-under-test.ts';
import { MemoryGrantStore } from '../grants/memory-grant-store.ts';
import { grantKeyOf } from './oauth-account.ts';
import type { TokenAnswer } from './token-answer.ts';

const key = grantKeyOf(account);
const unavailable: TokenAnswer = {
  kind: 'unavailable',
  reason: 'HTTP 503',
  retryAfterMs: undefined,
  mayHaveCounted: true,
};

describe('a refresh', () => {
  it('uses the configured refresh token first, then those that came in its place', async () => {
    const { refresher, asked } = worldOf([tokensNumbered(1), tokensNumbered(2)]);
    const first = await refresher().newerThan(account, 0);
    const second = await refresher().newerThan(account, first.version);
    expect(asked).toEqual(['rt-0', 'rt-1']);
    expect(second.access?.token.reveal()).toBe('at-2');
    expect(second.version).toBe(2);
  });

  it('goes on with the same refresh token when the endpoint gives no other', async () => {
    const same: TokenAnswer = {
      kind: 'tokens',
      accessToken: new Secret('at'),
      refreshToken: undefined,
      expiresAtMs: 1,
    };
    const { refresher, asked } = worldOf([same, same]);
    const { version } = await refresher().newerThan(account, 0);
    await refresher().newerThan(account, version);
    expect(asked).toEqual(['rt-0', 'rt-0']);
  });

  it('is one for all who ask at once, in this process and in others', async () => {
    const slow = async () => {
      await sleep(250);
      return tokensNumbered(1);
    };
    const { refresher, asked, told } = worldOf([slow]);
    const replicas = [refresher(), refresher(), refresher()];
    const grants = await Promise.all(
      replicas.flatMap((replica) => [replica.newerThan(account, 0), replica.newerThan(account, 0)]),
    );
    expect(asked).toEqual(['rt-0']);
    expect(new Set(grants.map(({ access }) => access?.token.reveal()))).toEqual(new Set(['at-1']));
    expect(told.toSorted()).toEqual(['refreshed', 'shared', 'shared']);
  });

  it('looks again under the lock: somebody may have been faster', async () => {
    const { refresher, asked, lock } = worldOf([tokensNumbered(1)]);
    const held = (await lock.take(key, 60_000, 0)) ?? expect.fail();
    const waiting = refresher().newerThan(account, 0);
    await sleep(20);
    await held.release();
    const [one, other] = await Promise.all([waiting, refresher().newerThan(account, 0)]);
    expect(one.access?.token.reveal()).toBe(other.access?.token.reveal());
    expect(asked).toHaveLength(1);
  });

  it('has its tokens stored before anybody gets them', async () => {
    const store = new MemoryGrantStore();
    const world = worldOf([tokensNumbered(1)], { store });
    const saving = Promise.withResolvers<void>();
    const save = store.save.bind(store);
    store.save = async (...args) => {
      await saving.promise;
      return save(...args);
    };
    let got = false;
    const refreshing = world
      .refresher()
      .newerThan(account, 0)
      .then(() => {
        got = true;
      });
    await sleep(50);
    expect(world.asked).toEqual(['rt-0']);
    expect(got).toBe(false);
    saving.resolve();
    await refreshing;
    expect((await store.read(key))?.version).toBe(1);
  });

  it('tries to store its tokens until that works, and holds the lock meanwhile', async () => {
    const store = new MemoryGrantStore();
    const { refresher, lock, told, asked, clock } = worldOf([tokensNumbered(1)], { store });
    const save = store.save.bind(store);
    let failures = 3;
    store.save = async (...args) => {
      clock.advanceMs(3_000);
      if (failures-- > 0) throw new Error('away');
      return save(...args);
    };
    const refreshing = refresher().newerThan(account, 0);
    await sleep(100);
    expect(await lock.take(key, 1_000, 0)).toBeUndefined();
    expect((await refreshing).access?.token.reveal()).toBe('at-1');
    expect(told).toEqual(['not persisted', 'not persisted', 'not persisted', 'refreshed']);
    expect(asked).toHaveLength(1);
  });
});

describe('a refresh token that is not taken', () => {
  it('is no loss when another replica has replaced it meanwhile', async () => {
    const store = new MemoryGrantStore();
    const other = worldOf([tokensNumbered(1)], { store });
    // The other one had lost the lock without noticing, and stored its tokens all the same.
    const tooLate = async (): Promise<TokenAnswer> => {
      await other.refresher().newerThan(account, 0);
      return { kind: 'invalid_grant' };
    };
    const { refresher, told } = worldOf([tooLate], { store });
    const grant = await refresher().newerThan(account, 0);
    expect(grant).toMatchObject({ problem: undefined, version: 1 });
    expect(grant.access?.token.reveal()).toBe('at-1');
    expect(told).toEqual(['shared']);
  });

  it('ends the account until a person acts, for every replica', async () => {
    const { refresher, asked, told } = worldOf([{ kind: 'invalid_grant' }]);
    expect((await refresher().newerThan(account, 0)).problem).toMatch(/invalid_grant/);
    expect((await refresher().newerThan(account, 0)).problem).toMatch(/invalid_grant/);
    expect(asked).toHaveLength(1);
    expect(told).toEqual(['revoked', 'shared']);
  });

  it('may be the fault of an answer that was lost, and then says so', async () => {
    const { refresher, clock } = worldOf([unavailable, { kind: 'invalid_grant' }]);
    const replica = refresher();
    await expect(replica.newerThan(account, 0)).rejects.toThrow('HTTP 503');
    clock.advanceMs(60_000);
    expect((await replica.newerThan(account, 0)).problem).toMatch(/was lost before, which may be why/);
  });

  it('is tried once more when a person says so', async () => {
    const { refresher, asked } = worldOf([{ kind: 'invalid_grant' }, tokensNumbered(1)]);
    const { version } = await refresher().newerThan(account, 0);
    expect(await refresher().forgetProblem(account)).toBe(true);
    const forgotten = await refresher().read(account);
    expect(forgotten).toMatchObject({ version: version + 1, problem: undefined, access: undefined });
    expect(await refresher().forgetProblem(account)).toBe(false);
    expect((await refresher().newerThan(account, forgotten.version)).access?.token.reveal()).toBe('at-1');
    expect(asked).toEqual(['rt-0', 'rt-0']);
  });

  it('is forgotten with another one in the configuration', async () => {
    const { refresher, asked } = worldOf([{ kind: 'invalid_grant' }, tokensNumbered(1)]);
    await refresher().newerThan(account, 0);
    const mended = { ...account, credential: { ...sampleCredential, refreshToken: new Secret('rt-new') } };
    expect((await refresher().newerThan(mended, 0)).problem).toBeUndefined();
    expect(asked).toEqual(['rt-0', 'rt-new']);
  });
});

describe('a token endpoint that fails', () => {
  it('is left alone for longer each time, and asked again once it is due', async () => {
    const { refresher, asked, clock } = worldOf([unavailable, unavailable, tokensNumbered(1)]);
    const replica = refresher();
    const outcome = () => replica.newerThan(account, 0).then(({ version }) => version, String);
    expect(await outcome()).toMatch('HTTP 503');
    clock.advanceMs(999);
    expect(await outcome()).toMatch('HTTP 503');
    expect(asked).toHaveLength(1);
    clock.advanceMs(1);
    await outcome();
    clock.advanceMs(1_999);
    await outcome();
    expect(asked).toHaveLength(2);
    clock.advanceMs(1);
    expect(await outcome()).toBe(1);
  });

  it('is asked again when it said, within reason', async () => {
    const { refresher, asked, clock } = worldOf([
      { ...unavailable, retryAfterMs: 90_000 },
      { ...unavailable, retryAfterMs: 1e9 },
      tokensNumbered(1),
    ]);
    const replica = refresher();
    const outcome = () => replica.newerThan(account, 0).then(({ version }) => version, String);
    await outcome();
    clock.advanceMs(89_999);
    await outcome();
    expect(asked).toHaveLength(1);
    clock.advanceMs(1);
    await outcome();
    clock.advanceMs(600_000);
    expect(await outcome()).toBe(1);
  });

  it('does not keep the lock', async () => {
    const { refresher, lock } = worldOf([unavailable]);
    await expect(refresher().newerThan(account, 0)).rejects.toThrow();
    expect(await lock.take(key, 1_000, 0)).toBeDefined();
  });
});

describe('a replica that lost the lock while it was suspended', () => {
  it('does not ask: the fence of the next one has been noted', async () => {
    const { refresher, asked, store, lock } = worldOf([tokensNumbered(1)]);
    const claim = store.claim.bind(store);
    let suspended = true;
    store.claim = async (which, fence) => {
      if (suspended) {
        suspended = false;
        await claim(which, fence + 1);
      }
      return claim(which, fence);
    };
    expect((await refresher().newerThan(account, 0)).version).toBe(1);
    expect(asked).toEqual(['rt-0']);
    expect((await lock.take(key, 1_000, 0))?.fence).toBeGreaterThan(2);
  });
});

describe('what is stored of an account', () => {
  it('that can not be opened is used neither for a refresh nor in another way', async () => {
    const { refresher, store, asked, told } = worldOf([]);
    await store.save(key, { version: 1, tokens: { keyId: 'k', text: 'v1.AAAA' }, problem: undefined });
    await expect(refresher().read(account)).rejects.toThrow(/can't be opened: damaged/);
    await expect(refresher().newerThan(account, 0)).rejects.toThrow(/can't be opened/);
    expect(asked).toEqual([]);
    expect(told).toContain('unreadable');
  });
});
