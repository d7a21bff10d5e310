import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '@gateway/config';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findAdminToken, forgetLogin, loginsFile, storedLogin, storeLogin } from './admin-token.ts';

const here = 'http://127.0.0.1:9090';
const elsewhere = 'https://admin.example';

let folder: string;
let env: Environment;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatewayctl-token-'));
  env = { XDG_CONFIG_HOME: join(folder, 'config'), GATEWAY_DATA: folder };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the token that a command signs in with', () => {
  it("is the one that is set, otherwise that of login, otherwise that of this machine's gateway", async () => {
    expect(await findAdminToken(env, here)).toBeUndefined();
    await writeFile(join(folder, 'admin-token'), 'gw_a_written\n');
    expect(await findAdminToken(env, here)).toEqual({ token: 'gw_a_written', origin: join(folder, 'admin-token') });
    await storeLogin(env, here, 'gw_a_login');
    expect((await findAdminToken(env, here))?.token).toBe('gw_a_login');
    expect((await findAdminToken({ ...env, GATEWAY_ADMIN_TOKEN: 'gw_a_set' }, here))?.token).toBe('gw_a_set');
    const file = join(folder, 'admin-token');
    expect((await findAdminToken({ ...env, GATEWAY_ADMIN_TOKEN_FILE: file }, here))?.token).toBe('gw_a_written');
  });

  it('of this machine is not shown to another one', async () => {
    await writeFile(join(folder, 'admin-token'), 'gw_a_written\n');
    expect(await findAdminToken(env, elsewhere)).toBeUndefined();
    expect(await findAdminToken(env, 'http://[::1]:9090')).toBeDefined();
  });
});

describe('logins', () => {
  it('are kept for each address, where only their owner reads them', async () => {
    await storeLogin(env, here, 'one');
    await storeLogin(env, elsewhere, 'two');
    expect([await storedLogin(env, here), await storedLogin(env, elsewhere)]).toEqual(['one', 'two']);
    expect((await stat(loginsFile(env))).mode & 0o777).toBe(0o600);
    expect(await forgetLogin(env, here)).toBe(true);
    expect(await forgetLogin(env, here)).toBe(false);
    expect(JSON.parse(await readFile(loginsFile(env), 'utf8'))).toEqual({ [elsewhere]: 'two' });
  });

  it('that cannot be read are not repeated', async () => {
    await storeLogin(env, here, 'canary');
    await writeFile(loginsFile(env), '{"canary');
    const refusal = await storedLogin(env, here).catch(String);
    expect(refusal).toContain('log in again');
    expect(refusal).not.toContain('canary');
  });
});
