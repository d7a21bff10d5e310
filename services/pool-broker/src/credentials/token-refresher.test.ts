import { setTimeout as sleep } from 'node:timers/promises';
import { Secret } from '@gateway/config';
import { DecryptionError } from '@gateway/config/encryption';
import { describe, expect, it } from 'vitest';
import {
  sampleOAuthAccount as account,
  sampleCredential,
  tokensNumbered,
  worldOf,
} from './__fixtures__/refresher-under-test.ts';
import { memoryGrants, newGrant } from './grants.ts';
import type { TokenAnswer } from './token-endpoint.ts';

const unavailable = { kind: 'failed', reason: 'HTTP 503', retryAfterMs: 0, mayHaveCounted: true } as const;
const first = newGrant(sampleCredential);

describe('a refresh', () => {
  it('uses the configured refresh token first, then those that came in its place', async () => {
    const { refresher, asked } = worldOf([tokensNumbered(1), tokensNumbered(2)]);
    const one = await refresher().newerThan(first);
    const second = await refresher().newerThan(one);
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
    await refresher().newerThan(await refresher().newerThan(first));
    expect(asked).toEqual(['rt-0', 'rt-0']);
  });

  it('is one for all who ask at once, in this process and in others', async () => {
    const slow = async () => {
      await sleep(250);
      return tokensNumbered(1);
    };
    const { refresher, asked, reported } = worldOf([slow]);
    const replicas = [refresher(), refresher(), refresher()];
    const grants = await Promise.all(
      replicas.flatMap((replica) => [replica.newerThan(first), replica.newerThan(first)]),
    );
    expect(asked).toEqual(['rt-0']);
    expect(new Set(grants.map(({ access }) => access?.token.reveal()))).toEqual(new Set(['at-1']));
    expect(reported.toSorted()).toEqual(['refreshed', 'shared', 'shared']);
  });

  it('looks again under its reservation: another replica may have been faster', async () => {
    const { refresher, asked, store } = worldOf([tokensNumbered(1)]);
    await store.reserve(account, 'another', 60_000);
    const waiting = refresher().newerThan(first);
    await sleep(20);
    await store.release(account, 'another');
    const [one, other] = await Promise.all([waiting, refresher().newerThan(first)]);
    expect(one.access?.token.reveal()).toBe(other.access?.token.reveal());
    expect(asked).toHaveLength(1);
  });

  it('has its tokens stored before they are given to a caller', async () => {
    const store = memoryGrants();
    const world = worldOf([tokensNumbered(1)], store);
    const saving = Promise.withResolvers<void>();
    const save = store.save.bind(store);
    store.save = async (...args) => {
      await saving.promise;
      return save(...args);
    };
    let got = false;
    const refreshing = world
      .refresher()
      .newerThan(first)
      .then(() => {
        got = true;
      });
    await sleep(50);
    expect(world.asked).toEqual(['rt-0']);
    expect(got).toBe(false);
    saving.resolve();
    await refreshing;
    expect((await store.read(account)).version).toBe(1);
  });

  it('tries to store its tokens until that works, and keeps its reservation meanwhile', async () => {
    const store = memoryGrants();
    const { refresher, reported, asked } = worldOf([tokensNumbered(1)], store);
    const save = store.save.bind(store);
    let failures = 3;
    store.save = async (...args) => {
      if (failures-- > 0) throw new Error('away');
      return save(...args);
    };
    const refreshing = refresher().newerThan(first);
    await sleep(100);
    expect(await store.reserve(account, 'another', 1_000)).toBe('busy');
    expect((await refreshing).access?.token.reveal()).toBe('at-1');
    expect(reported).toEqual(['not persisted', 'not persisted', 'not persisted', 'refreshed']);
    expect(asked).toHaveLength(1);
  });
});

describe('a refresh whose tokens were stored without its knowledge', () => {
  it('has those tokens, and asks for no others', async () => {
    const store = memoryGrants();
    const { refresher, asked } = worldOf([tokensNumbered(1)], store);
    const save = store.save.bind(store);
    store.save = async (...args) => {
      await save(...args);
      store.save = save;
      throw new Error('the answer was lost');
    };
    const { version, access } = await refresher().newerThan(first);
    expect([version, access?.token.reveal(), asked]).toEqual([1, 'at-1', ['rt-0']]);
  });
});

describe('a refresh token that is not taken', () => {
  it('is no loss when another replica has replaced it meanwhile', async () => {
    const store = memoryGrants();
    // The other replica lost its reservation without noticing, and stored its tokens anyway.
    store.reserve = async () => 'reserved';
    const other = worldOf([tokensNumbered(1)], store);
    const tooLate = async (): Promise<TokenAnswer> => {
      await other.refresher().newerThan(first);
      return { kind: 'invalid_grant' };
    };
    const { refresher, reported } = worldOf([tooLate], store);
    const grant = await refresher().newerThan(first);
    expect([grant.version, grant.problem]).toEqual([1, undefined]);
    expect(grant.access?.token.reveal()).toBe('at-1');
    expect(reported).toEqual(['shared']);
  });

  it('ends the account until a person acts, for every replica', async () => {
    const { refresher, asked, reported } = worldOf([{ kind: 'invalid_grant' }]);
    expect((await refresher().newerThan(first)).problem).toMatch(/invalid_grant/);
    expect((await refresher().newerThan(first)).problem).toMatch(/invalid_grant/);
    expect(asked).toHaveLength(1);
    expect(reported).toEqual(['revoked', 'shared']);
  });

  it('may be the fault of an answer that was lost, and then says so', async () => {
    const { refresher, time } = worldOf([unavailable, { kind: 'invalid_grant' }]);
    const replica = refresher();
    await expect(replica.newerThan(first)).rejects.toThrow('HTTP 503');
    time.advanceMs(60_000);
    expect((await replica.newerThan(first)).problem).toMatch(/was lost earlier, which may be the cause/);
  });

  it('is tried once more when a person says so', async () => {
    const { refresher, asked } = worldOf([{ kind: 'invalid_grant' }, tokensNumbered(1)]);
    const { version } = await refresher().newerThan(first);
    expect(await refresher().forgetProblem()).toBe(true);
    const forgotten = await refresher().read();
    expect(forgotten).toEqual({ version: version + 1, refreshToken: sampleCredential.refreshToken });
    expect(await refresher().forgetProblem()).toBe(false);
    expect((await refresher().newerThan(forgotten)).access?.token.reveal()).toBe('at-1');
    expect(asked).toEqual(['rt-0', 'rt-0']);
  });

  it('is forgotten with another one in the configuration', async () => {
    const { refresher, asked } = worldOf([{ kind: 'invalid_grant' }, tokensNumbered(1)]);
    await refresher().newerThan(first);
    const mended = { ...account, credential: { ...sampleCredential, refreshToken: new Secret('rt-new') } };
    expect((await refresher(mended).newerThan(newGrant(mended.credential))).problem).toBeUndefined();
    expect(asked).toEqual(['rt-0', 'rt-new']);
  });
});

describe('a token endpoint that fails', () => {
  it('is left alone for longer each time, and asked again once it is due', async () => {
    const { refresher, asked, time } = worldOf([unavailable, unavailable, tokensNumbered(1)]);
    const replica = refresher();
    const outcome = () => replica.newerThan(first).then(({ version }) => version, String);
    expect(await outcome()).toMatch('HTTP 503');
    time.advanceMs(999);
    expect(await outcome()).toMatch('HTTP 503');
    expect(asked).toHaveLength(1);
    time.advanceMs(1);
    await outcome();
    time.advanceMs(1_999);
    await outcome();
    expect(asked).toHaveLength(2);
    time.advanceMs(1);
    expect(await outcome()).toBe(1);
  });

  it('is asked again when it said, within reason', async () => {
    const { refresher, asked, time } = worldOf([
      { ...unavailable, retryAfterMs: 90_000 },
      { ...unavailable, retryAfterMs: 1e9 },
      tokensNumbered(1),
    ]);
    const replica = refresher();
    const outcome = () => replica.newerThan(first).then(({ version }) => version, String);
    await outcome();
    time.advanceMs(89_999);
    await outcome();
    expect(asked).toHaveLength(1);
    time.advanceMs(1);
    await outcome();
    time.advanceMs(600_000);
    expect(await outcome()).toBe(1);
  });

  it('does not keep the reservation', async () => {
    const { refresher, store } = worldOf([unavailable]);
    await expect(refresher().newerThan(first)).rejects.toThrow();
    expect(await store.reserve(account, 'another', 1_000)).toBe('reserved');
  });
});

describe('a reservation that the holder before let run out', () => {
  it('leaves that one the time to store its tokens, which are then used', async () => {
    const store = memoryGrants();
    store.reserve = async () => 'taken_over';
    const { refresher, asked } = worldOf([], store);
    const waiting = refresher().newerThan(first);
    await sleep(100);
    const access = { token: new Secret('at-1'), issuedAtMs: 0, expiresAtMs: 1 };
    await store.save(account, { version: 1, refreshToken: new Secret('rt-1'), access });
    expect((await waiting).access?.token.reveal()).toBe('at-1');
    expect(asked).toEqual([]);
  });
});

describe('what is stored of an account', () => {
  it('that cannot be decrypted is used neither for a refresh nor in another way', async () => {
    const store = memoryGrants();
    store.read = () => Promise.reject(new DecryptionError('damaged'));
    const { refresher, asked, reported } = worldOf([], store);
    await expect(refresher().read()).rejects.toThrow(/cannot be decrypted: damaged/);
    await expect(refresher().newerThan(first)).rejects.toThrow(/cannot be decrypted/);
    expect(asked).toEqual([]);
    expect(reported).toContain('unreadable');
  });
});
