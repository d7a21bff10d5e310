import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCredentialSettings, readRotationKeys } from './gateway-database.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-keys-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const ownKey = `k1:${Buffer.alloc(32, 'own').toString('base64')}`;
const keysWith = async (env: Readonly<Record<string, string>> = {}) => {
  const { keys } = await readCredentialSettings({ GATEWAY_DATA: join(folder, 'data'), ...env });
  return keys.map(({ id, key }) => [id, key.export().toString('base64')]);
};

describe('the keys of stored credentials', () => {
  it('are created once beside the embedded database, in a file that only its owner reads', async () => {
    const [created, ...others] = await keysWith();
    expect([created?.[0], others]).toEqual(['data-folder', []]);
    expect(await keysWith()).toEqual([created]);
    const file = join(folder, 'data/account-keys');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).toBe(`${created?.join(':')}\n`);
  });

  it('differ in another folder', async () => {
    expect(await keysWith()).not.toEqual(await keysWith({ GATEWAY_DATA: join(folder, 'data-2') }));
  });

  it('are those of ACCOUNT_KEYS, which may include the one of the folder', async () => {
    expect((await keysWith({ ACCOUNT_KEYS: ownKey })).map(([id]) => id)).toEqual(['k1']);
    expect(await readdir(folder)).toEqual([]);
    await keysWith();
    const created = (await readFile(join(folder, 'data/account-keys'), 'utf8')).trim();
    const both = await keysWith({ ACCOUNT_KEYS: `${ownKey},${created}` });
    expect(both.map(([id]) => id)).toEqual(['k1', 'data-folder']);
  });

  it('are rotated from the one of the folder to that of ACCOUNT_KEYS', async () => {
    const rotation = async () =>
      (await readRotationKeys({ GATEWAY_DATA: join(folder, 'data'), ACCOUNT_KEYS: ownKey })).map(({ id }) => id);
    expect(await rotation()).toEqual(['k1']);
    await keysWith();
    expect(await rotation()).toEqual(['k1', 'data-folder']);
    await expect(readRotationKeys({ GATEWAY_DATA: join(folder, 'data') })).rejects.toThrow(/ACCOUNT_KEYS/);
  });

  it('are not created for a shared database, because every broker needs the same one', async () => {
    expect(await keysWith({ DATABASE_URL: 'postgres://gateway@127.0.0.1/gateway' })).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });
});
