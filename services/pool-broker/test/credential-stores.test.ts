import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { readCredentialConfig } from '../src/credentials/credential-config.ts';
import { type CredentialStorage, credentialStorage } from '../src/credentials/credential-storage.ts';
import type { GrantKey, StoredGrant } from '../src/credentials/grants/grant-store.ts';
import { keysOf, waysToShare } from './__fixtures__/credential-backends.ts';

const { settings } = readCredentialConfig({});
const key: GrantKey = { accountId: 'p/a', origin: 'o1' };
const sealed = (text: string) => ({ keyId: 'k1', text });
const grantOf = (version: number, text = `t${version}`, problem?: string): StoredGrant => ({
  version,
  tokens: sealed(text),
  problem,
});

async function memory() {
  const storage = credentialStorage({ keys: [], settings }, {}, systemClock);
  return async () => storage;
}

const ways: readonly (readonly [string, () => Promise<() => Promise<CredentialStorage>>])[] = [
  ['memory', memory],
  ...waysToShare.map(
    ([name, share]) =>
      [
        name,
        async () => {
          const places = await share();
          return async () => credentialStorage({ keys: keysOf('k1'), settings }, await places(), systemClock);
        },
      ] as const,
  ),
];

describe.each(ways)('grants in %s', (_way, share) => {
  it('are not there before they are saved, not even once claimed', async () => {
    const { grants } = await (await share())();
    expect(await grants.read(key)).toBeUndefined();
    expect(await grants.claim(key, 1)).toEqual({ kind: 'claimed', grant: undefined });
    expect(await grants.read(key)).toBeUndefined();
    expect(await grants.lastFence(key)).toBe(1);
  });

  it('follow each other by version, for every replica', async () => {
    const replica = await share();
    const [{ grants: one }, { grants: other }] = [await replica(), await replica()];
    expect(await one.save(key, grantOf(1))).toBe(true);
    expect(await other.read(key)).toEqual(grantOf(1));
    expect(await other.save(key, grantOf(2))).toBe(true);
    expect(await one.save(key, grantOf(2, 'too late'))).toBe(false);
    expect(await one.save(key, grantOf(4))).toBe(false);
    expect(await one.read(key)).toEqual(grantOf(2));
  });

  it('are saved once however often that is tried', async () => {
    const { grants } = await (await share())();
    expect(await grants.save(key, grantOf(1))).toBe(true);
    expect(await grants.save(key, grantOf(1))).toBe(true);
    expect(await grants.save(key, grantOf(2))).toBe(true);
  });

  it('of which several are saved at once keep one', async () => {
    const replica = await share();
    const stores = await Promise.all(Array.from({ length: 3 }, replica));
    const saved = await Promise.all(stores.map(({ grants }, n) => grants.save(key, grantOf(1, `of ${n}`))));
    expect(saved.filter(Boolean)).toHaveLength(1);
    expect((await stores[0]?.grants.read(key))?.tokens.text).toBe(`of ${saved.indexOf(true)}`);
  });

  it('are claimed by rising numbers only, and give what is stored then', async () => {
    const { grants } = await (await share())();
    await grants.save(key, grantOf(1));
    expect(await grants.claim(key, 5)).toEqual({ kind: 'claimed', grant: grantOf(1) });
    expect(await grants.claim(key, 5)).toEqual({ kind: 'superseded' });
    expect(await grants.claim(key, 4)).toEqual({ kind: 'superseded' });
    expect((await grants.claim(key, 6)).kind).toBe('claimed');
    expect(await grants.save(key, grantOf(2))).toBe(true);
  });

  it('of another credential, or another account, are others', async () => {
    const { grants } = await (await share())();
    await grants.save(key, grantOf(1));
    for (const other of [
      { ...key, origin: 'o2' },
      { ...key, accountId: 'p/b' },
    ]) {
      expect(await grants.read(other)).toBeUndefined();
      expect(await grants.save(other, grantOf(1, 'other'))).toBe(true);
    }
    expect(await grants.read(key)).toEqual(grantOf(1));
  });

  it('tell their problems, those of the present credential', async () => {
    const { grants } = await (await share())();
    await grants.save(key, grantOf(1, 't', 'it is broken'));
    await grants.save({ accountId: 'p/b', origin: 'o1' }, grantOf(1));
    const keys = [key, { accountId: 'p/b', origin: 'o1' }, { accountId: 'p/c', origin: 'o1' }];
    expect([...(await grants.problems(keys))]).toEqual([['p/a', 'it is broken']]);
    expect((await grants.problems([{ ...key, origin: 'o2' }])).size).toBe(0);
    expect((await grants.problems([])).size).toBe(0);
    await grants.save(key, grantOf(2));
    expect((await grants.problems(keys)).size).toBe(0);
  });
});

describe.each(ways)('the lock in %s', (_way, share) => {
  it('is held by one replica at a time, whose fence is the highest', async () => {
    const replica = await share();
    const [{ lock: one }, { lock: other }] = [await replica(), await replica()];
    const first = (await one.take(key, 60_000, 0)) ?? expect.fail();
    expect(await other.take(key, 60_000, 0)).toBeUndefined();
    await first.release();
    const second = (await other.take(key, 60_000, first.fence)) ?? expect.fail();
    expect(second.fence).toBeGreaterThan(first.fence);
    await second.release();
    expect((await one.take(key, 60_000, 1_000))?.fence).toBeGreaterThan(1_000);
  });

  it('goes to one of many who want it at once', async () => {
    const replica = await share();
    const locks = await Promise.all(Array.from({ length: 5 }, replica));
    const taken = await Promise.all(locks.map(({ lock }) => lock.take(key, 60_000, 0)));
    expect(taken.filter((held) => held !== undefined)).toHaveLength(1);
  });

  it('is one of its own for each account', async () => {
    const { lock } = await (await share())();
    expect(await lock.take(key, 60_000, 0)).toBeDefined();
    expect(await lock.take({ ...key, accountId: 'p/b' }, 60_000, 0)).toBeDefined();
  });

  it('comes free when its holder does nothing, who then can not extend or release what is another one’s', async () => {
    const replica = await share();
    const [{ lock: one }, { lock: other }] = [await replica(), await replica()];
    const lost = (await one.take(key, 50, 0)) ?? expect.fail();
    await sleep(100);
    expect(await other.take(key, 60_000, lost.fence)).toBeDefined();
    expect(await lost.extend(60_000)).toBe(false);
    await lost.release();
    expect(await one.take(key, 60_000, 0)).toBeUndefined();
  });

  it('is held for longer when extended in time', async () => {
    const replica = await share();
    const { lock } = await replica();
    const held = (await lock.take(key, 200, 0)) ?? expect.fail();
    expect(await held.extend(60_000)).toBe(true);
    await sleep(300);
    expect(await (await replica()).lock.take(key, 60_000, 0)).toBeUndefined();
  });
});
