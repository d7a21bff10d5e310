import { setTimeout as sleep } from 'node:timers/promises';
import { Secret } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { sampleOAuthAccount as account } from '../src/credentials/__fixtures__/refresher-under-test.ts';
import { Encryption } from '../src/credentials/encryption.ts';
import {
  databaseGrants,
  type Grant,
  type GrantStore,
  grantIdOf,
  memoryGrants,
  newGrant,
} from '../src/credentials/grants.ts';
import { databaseOfTest, keysOf, waysToShare } from './__fixtures__/credential-backends.ts';

const ofAnotherCredential = {
  ...account,
  credential: { ...account.credential, refreshToken: new Secret('rt-another') },
};
const otherAccount = { ...account, id: 'p/b' };

function grantOf(version: number, text = `rt-${version}`, problem?: string): Grant {
  const access = { token: new Secret(`at-${version}`), issuedAtMs: 1, expiresAtMs: 2 };
  return { version, refreshToken: new Secret(text), access, problem };
}

const refreshTokenIn = async (store: GrantStore, which = account) => (await store.read(which)).refreshToken.reveal();

async function databaseStores(kind: (typeof waysToShare)[number]) {
  const database = await databaseOfTest(kind);
  return () => databaseGrants(database, new Encryption(keysOf('k1')));
}

const places = [
  ['memory', async () => memoryGrants()],
  ...waysToShare.map((kind) => [kind, async () => (await databaseStores(kind))()] as const),
] as const;

describe.each(places)('grants in %s', (_place, open) => {
  it('are those of the configuration before they are saved, even once reserved', async () => {
    const store = await open();
    expect(await store.reserve(account, 'one', 60_000)).toBe('reserved');
    expect(await store.read(account)).toEqual(newGrant(account.credential));
  });

  it('follow each other by version', async () => {
    const store = await open();
    expect(await store.save(account, grantOf(1))).toBe(true);
    expect(await store.save(account, grantOf(2))).toBe(true);
    expect(await store.save(account, grantOf(2, 'too late'))).toBe(false);
    expect(await store.save(account, grantOf(4))).toBe(false);
    const { access, refreshToken, version } = await store.read(account);
    expect([access?.token.reveal(), refreshToken.reveal(), version]).toEqual(['at-2', 'rt-2', 2]);
    expect(access).toMatchObject({ issuedAtMs: 1, expiresAtMs: 2 });
  });

  it('of another credential, or another account, are others', async () => {
    const store = await open();
    await store.save(account, grantOf(1));
    for (const other of [ofAnotherCredential, otherAccount]) {
      expect((await store.read(other)).version).toBe(0);
      expect(await store.save(other, grantOf(1, `of ${other.id}`))).toBe(true);
    }
    expect(await refreshTokenIn(store)).toBe('rt-1');
  });

  it('name their problems, each of its own credential', async () => {
    const store = await open();
    await store.save(account, grantOf(1, 't', 'it is broken'));
    await store.save(otherAccount, grantOf(1));
    await store.save(ofAnotherCredential, grantOf(1));
    expect([...(await store.problems())]).toEqual([[grantIdOf(account), 'it is broken']]);
    await store.save(account, grantOf(2));
    expect((await store.problems()).size).toBe(0);
  });
});

describe.each(waysToShare)('replicas on one %s', (kind) => {
  it('read what others saved, and of several grants that are saved at once keep one', async () => {
    const replica = await databaseStores(kind);
    const saved = await Promise.all([0, 1, 2].map((n) => replica().save(account, grantOf(1, `of ${n}`))));
    expect(saved.filter(Boolean)).toHaveLength(1);
    expect(await refreshTokenIn(replica())).toBe(`of ${saved.indexOf(true)}`);
  });

  it('keep the grant of a credential that was replaced for 30 days', async () => {
    const database = await databaseOfTest(kind);
    const store = databaseGrants(database, new Encryption(keysOf('k1')));
    for (const each of [account, otherAccount]) await store.save(each, grantOf(1));
    await store.save(ofAnotherCredential, grantOf(1));
    expect((await store.read(account)).version).toBe(1);
    await database
      .updateTable('account_grants')
      .set({ updated_at_ms: Date.now() - 30 * 86_400_000 - 1 })
      .execute();
    await store.save(ofAnotherCredential, grantOf(2));
    expect((await store.read(account)).version).toBe(0);
    expect((await store.read(ofAnotherCredential)).version).toBe(2);
    expect((await store.read(otherAccount)).version).toBe(1);
  });

  it('read no grant that was encrypted with a key that they lack, or was changed', async () => {
    const database = await databaseOfTest(kind);
    const storeWith = (...keys: string[]) => databaseGrants(database, new Encryption(keysOf(...keys)));
    await storeWith('k1').save(account, grantOf(1));
    await expect(storeWith('k2').read(account)).rejects.toThrow(/cannot be decrypted: unknown_key/);
    await database.updateTable('account_grants').set({ tokens: 'v1.AAAA' }).execute();
    await expect(storeWith('k1').read(account)).rejects.toThrow(/cannot be decrypted: damaged/);
  });

  it('reserve the refresh of an account one at a time', async () => {
    const replica = await databaseStores(kind);
    const holders = ['one', 'two', 'three', 'four', 'five'];
    const reserved = await Promise.all(holders.map((holder) => replica().reserve(account, holder, 60_000)));
    expect(reserved.toSorted()).toEqual(['busy', 'busy', 'busy', 'busy', 'reserved']);
    const holder = holders[reserved.indexOf('reserved')] ?? expect.fail();
    await replica().release(account, 'another');
    expect(await replica().reserve(account, 'another', 60_000)).toBe('busy');
    expect(await replica().reserve(otherAccount, 'another', 60_000)).toBe('reserved');
    await replica().release(account, holder);
    expect(await replica().reserve(account, 'another', 60_000)).toBe('reserved');
  });

  it('take a reservation over that its holder let run out, not one that it made longer', async () => {
    const replica = await databaseStores(kind);
    await replica().reserve(account, 'one', 50);
    await sleep(100);
    expect(await replica().reserve(account, 'two', 50)).toBe('taken_over');
    expect(await replica().reserve(account, 'two', 60_000)).toBe('reserved');
    await sleep(100);
    expect(await replica().reserve(account, 'one', 60_000)).toBe('busy');
  });
});
