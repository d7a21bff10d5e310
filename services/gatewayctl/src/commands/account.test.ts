import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '@gateway/config';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { RememberingTerminal } from '../__fixtures__/remembering-terminal.ts';
import { openStoredAccounts } from '../control-plane.ts';
import {
  type AddFlags,
  addAccount,
  changeAccount,
  enableAccount,
  listAccounts,
  removeAccount,
  rotateAccountKeys,
} from './account.ts';

const keyOf = (id: string) => `${id}:${Buffer.alloc(32, id).toString('base64')}`;

let folder: string;
let env: Environment;
let terminal: RememberingTerminal;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatewayctl-account-'));
  // Nothing listens at port 1.
  env = { ADMIN_PORT: '1', GATEWAY_DATA: folder, ACCOUNT_KEYS: keyOf('k1'), OPENAI_API_KEY: 'of-the-default-account' };
  terminal = new RememberingTerminal();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const input = (text: string) => async () => text;
const add = (id: string, flags: Partial<AddFlags> = {}, secret = 'sk-canary\n') =>
  addAccount(env, id, { kind: 'bearer', ...flags }, input(secret));

async function rows(): Promise<readonly Readonly<Record<string, string>>[]> {
  terminal.printed = '';
  await listAccounts(env, { json: true });
  return terminal.lines.map((line) => JSON.parse(line));
}

async function stored() {
  await using accounts = await openStoredAccounts(env);
  return await accounts.table.list();
}

describe('gatewayctl account', () => {
  it('adds an account that the list then has, and shows its secret nowhere', async () => {
    await add('responses/b', { models: ['gpt-*'], maxConcurrency: 5 });
    expect(await rows()).toMatchObject([
      { pool: 'responses', account: 'default', state: 'available' },
      { pool: 'responses', account: 'b', state: 'available', note: '' },
    ]);
    const [account] = await stored();
    expect(account).toMatchObject({ models: '["gpt-*"]', max_concurrency: 5, key_id: 'k1' });
    expect([terminal.printed, ...terminal.notes, JSON.stringify(account)].join()).not.toContain('canary');
  });

  it('takes the secret from a file, and oauth with where its tokens come from', async () => {
    const file = join(folder, 'secret');
    await writeFile(file, 'rt-canary\n');
    const oauth = { tokenUrl: 'https://auth.example/token', clientId: 'me', scopes: ['a'] };
    await add('messages/o', { kind: 'oauth', secretFile: file, clientSecretFile: file, ...oauth }, 'not read');
    expect((await stored())[0]).toMatchObject({ account_id: 'messages/o', credential_kind: 'oauth' });
  });

  it('enables, drains, disables and removes it', async () => {
    await add('responses/b');
    const stateOfB = async () => (await rows()).find(({ account }) => account === 'b')?.state;
    await changeAccount(env, 'responses/b', 'draining');
    expect(await stateOfB()).toBe('draining');
    await changeAccount(env, 'responses/b', 'disabled');
    expect(await stateOfB()).toBe('disabled');
    await changeAccount(env, 'responses/b', 'active');
    expect(await stateOfB()).toBe('available');
    await removeAccount(env, 'responses/b');
    expect(await stateOfB()).toBeUndefined();
  });

  it.each<[string, string, Partial<AddFlags>, RegExp]>([
    ['a name of gateway.yaml', 'responses/default', {}, /already, in gateway\.yaml or in the database/],
    ['a pool that is not there', 'nowhere/b', {}, /no pool nowhere .* responses, messages/],
    ['oauth without an endpoint', 'responses/b', { kind: 'oauth' }, /needs --token-url.*\n.*needs --client-id/],
    [
      'an endpoint in the clear',
      'responses/b',
      { kind: 'oauth', clientId: 'c', tokenUrl: 'http://auth.example' },
      /--token-url must start with https/,
    ],
    ['flags of another kind', 'responses/b', { clientId: 'c' }, /--client-id is for --kind oauth only/],
    ['a file that is not there', 'responses/b', { secretFile: '/nowhere/secret' }, /can't be read \(ENOENT\)/],
  ])('refuses %s, and changes nothing', async (_what, id, flags, message) => {
    await expect(add(id, flags)).rejects.toThrow(message);
    expect(await stored()).toEqual([]);
  });

  it.each([
    ['empty', '\n'],
    ['of two lines', 'sk-canary\nmore-canary'],
  ])('refuses a secret that is %s, without repeating it', async (_what, secret) => {
    const refusal = await add('responses/b', {}, secret).catch(String);
    expect(refusal).toMatch(/The secret/);
    expect(refusal).not.toContain('canary');
  });

  it('reads no secret from a terminal', async () => {
    await expect(addAccount(env, 'responses/b', { kind: 'bearer' }, undefined)).rejects.toThrow(/Pipe it in/);
  });

  it('adds none twice', async () => {
    await add('responses/b');
    await expect(add('responses/b')).rejects.toThrow(/already/);
  });

  it('says what to do without a key, before a secret is read', async () => {
    env = { ...env, ACCOUNT_KEYS: '' };
    const unread = async () => expect.fail('it was read');
    const adding = addAccount(env, 'responses/b', { kind: 'bearer' }, unread);
    await expect(adding).rejects.toThrow(/ACCOUNT_KEYS is not set.*openssl rand -base64 32/s);
  });

  it('has a running gateway forget what was said of an account, one of gateway.yaml too', async () => {
    const { url, enabled } = await gatewayThatKnows('responses/of-the-file');
    env = { ...env, GATEWAY_ADMIN_URL: url };
    await enableAccount(env, 'responses/of-the-file');
    expect(terminal.notes).toEqual(['responses/of-the-file is active']);
    await expect(enableAccount(env, 'responses/unknown')).rejects.toThrow(
      /neither in the database nor in a running gateway/,
    );
    expect(enabled).toEqual(['responses/of-the-file', 'responses/unknown']);
  });

  it('enables an account of the database without a gateway, and says that none runs', async () => {
    await add('responses/b');
    await changeAccount(env, 'responses/b', 'disabled');
    terminal.notes.length = 0;
    await enableAccount(env, 'responses/b');
    expect((await stored())[0]?.state).toBe('active');
    expect(terminal.notes).toEqual(['responses/b is active', expect.stringMatching(/^No gateway runs here/)]);
  });

  it('changes no database of which it can only guess', async () => {
    const elsewhere = { GATEWAY_ADMIN_URL: 'http://127.0.0.1:1', ACCOUNT_KEYS: keyOf('k1') };
    await expect(changeAccount(elsewhere, 'responses/b', 'disabled')).rejects.toThrow(/Set DATABASE_URL/);
  });

  it('says that an account is none of the database', async () => {
    await expect(changeAccount(env, 'responses/default', 'disabled')).rejects.toThrow(
      /One of gateway\.yaml is changed there/,
    );
    await expect(removeAccount(env, 'responses/default')).rejects.toThrow(/no account responses\/default/);
  });

  it('lists what can not be decrypted as not used', async () => {
    await add('responses/b');
    env = { ...env, ACCOUNT_KEYS: keyOf('k2') };
    expect((await rows()).find(({ account }) => account === 'b')).toMatchObject({
      state: 'not used',
      note: expect.stringMatching(/encrypted with k1/),
    });
  });

  it('rotates keys, and says what it could not decrypt', async () => {
    await add('responses/b');
    await add('responses/c');
    terminal.notes.length = 0;
    env = { ...env, ACCOUNT_KEYS: `${keyOf('k2')},${keyOf('k1')}` };
    expect((await rotateAccountKeys(env)).refused).toEqual([]);
    expect(terminal.notes).toEqual(['0 of 2 are encrypted with k2', '2 of 2 are encrypted with k2']);
    env = { ...env, ACCOUNT_KEYS: keyOf('k3') };
    expect((await rotateAccountKeys(env)).refused).toHaveLength(2);
    expect(terminal.notes.at(-1)).toMatch(/can't be decrypted .* responses\/c \(credential\)/);
  });
});

/** A gateway, as far as it can be asked to enable its one account. */
async function gatewayThatKnows(accountId: string) {
  const enabled: string[] = [];
  const server = createServer(async (request, response) => {
    const { accountId: asked } = JSON.parse((await request.toArray()).join('') || '{}');
    enabled.push(asked);
    const headers = { 'content-type': request.headers['content-type'] ?? '' };
    response.writeHead(200, headers).end(JSON.stringify({ known: asked === accountId }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, enabled };
}
