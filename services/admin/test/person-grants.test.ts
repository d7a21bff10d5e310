import { Secret } from '@gateway/config';
import { DecryptionError, parseEncryptionKeys } from '@gateway/config/encryption';
import { testDatabases } from '@gateway/database/testing';
import { describe, expect, it } from 'vitest';
import { PersonGrants } from '../src/access/person-grants.ts';

const keys = (text: string) => parseEncryptionKeys(text) ?? expect.fail('these are no keys');
const [oldKey, newKey] = [`k1:${'1'.repeat(64)}`, `k2:${'2'.repeat(64)}`];
const token = (text: string) => new Secret(text);

describe.each(testDatabases)('grants of people over $name', ({ open }) => {
  it('are due again after their time, and are claimed by one replica', async () => {
    await using opened = await open();
    const grants = new PersonGrants(opened.database, keys(oldKey));
    await grants.keep('dana', token('first'), 0, 1_000);
    await grants.keep('erin', token('hers'), 0, 500);
    expect(await grants.due(10, 499)).toEqual([]);
    const due = await grants.due(10, 1_000);
    expect(due.map(({ person_id }) => person_id)).toEqual(['erin', 'dana']);
    const [, dana = expect.fail('none is due')] = due;
    const claimed = await Promise.all([1, 2, 3].map(() => grants.claim(dana, 2_000)));
    expect(claimed.filter((each) => each !== undefined).map(({ person_id }) => person_id)).toEqual(['dana']);
    expect((await grants.due(10, 1_999)).map(({ person_id }) => person_id)).toEqual(['erin']);
  });

  it('are encrypted for their person, and readable with each of the keys', async () => {
    await using opened = await open();
    const { database } = opened;
    await new PersonGrants(database, keys(oldKey)).keep('dana', token('canary'), 0, 0);
    const grants = new PersonGrants(database, keys(`${newKey},${oldKey}`));
    const [dana = expect.fail('none is due')] = await grants.due(1, 0);
    expect(JSON.stringify(dana)).not.toContain('canary');
    expect(grants.refreshTokenOf(dana).reveal()).toBe('canary');
    expect(() => grants.refreshTokenOf({ ...dana, person_id: 'erin' })).toThrow(new DecryptionError('damaged'));
    await grants.replace(dana, token('next'));
    const [next = expect.fail('none is due')] = await grants.due(1, 0);
    expect(next.key_id).toBe('k2');
    expect(() => new PersonGrants(database, keys(oldKey)).refreshTokenOf(next)).toThrow(
      new DecryptionError('unknown_key'),
    );
  });

  it('of a new sign-in are neither replaced nor forgotten by a lookup that had begun before', async () => {
    await using opened = await open();
    const grants = new PersonGrants(opened.database, keys(oldKey));
    await grants.keep('dana', token('first'), 0, 0);
    const [before = expect.fail('none is due')] = await grants.due(1, 0);
    await grants.keep('dana', token('second'), 1, 0);
    await grants.replace(before, token('of the first'));
    expect(await grants.forget(before)).toBe(false);
    const [after = expect.fail('none is due')] = await grants.due(1, 0);
    expect(grants.refreshTokenOf(after).reveal()).toBe('second');
    expect(await grants.forget(after)).toBe(true);
    expect(await grants.due(1, 0)).toEqual([]);
  });
});
