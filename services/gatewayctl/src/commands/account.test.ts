import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { openGatewayDatabase } from '@gateway/all-in-one/gateway-database';
import { Secret } from '@gateway/config';
import { migrate } from '@gateway/database';
import { readRequiredKeys } from '@gateway/pool-broker/config';
import { AccountTable } from '@gateway/pool-broker/credentials/account-table';
import { Encryption } from '@gateway/pool-broker/credentials/encryption';
import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { AccountState, AccountUse, AttemptResult, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';
import { readSecret } from './account/credential-input.ts';

let folder: string;
let secretFile: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatewayctl-account-'));
  secretFile = join(folder, 'secret');
  await writeFile(secretFile, 'sk-canary\n');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const accountOf = (pool: string, name: string, more: object = {}) => ({ id: `${pool}/${name}`, pool, name, ...more });
const overview = {
  pools: [
    {
      accounts: [
        accountOf('responses', 'a', { state: AccountState.AVAILABLE, inFlight: 3, stored: true, source: 'database' }),
        accountOf('responses', 'both', {
          state: AccountState.COOLING,
          cooldowns: [{ untilMs: 1_795_000_000_000, reason: AttemptResult.RATE_LIMITED }],
        }),
      ],
    },
    {
      pool: { name: 'messages', format: ProviderFormat.MESSAGES },
      accounts: [
        accountOf('messages', 'both', { state: AccountState.DISABLED, note: 'revoked' }),
        accountOf('messages', 'proxied', { credentialKind: 'bearer' }),
      ],
    },
  ],
};

function commandLine() {
  const asked: unknown[] = [];
  const remember = (request: unknown) => {
    asked.push(request);
    return {};
  };
  const line = new CommandLine((router) => {
    router.service(AccountService, {
      addAccount: remember,
      replaceCredential: remember,
      setAccountState: remember,
      removeAccount: remember,
    });
    router.service(PoolService, { listPools: () => ({ overview }) });
  });
  return { line, asked };
}

describe('gatewayctl account', () => {
  it('lists accounts with their state and its reason', async () => {
    const { line } = commandLine();
    const { lines } = await line.run('account', 'list');
    expect(lines[1]).toMatch(/^responses +a +available +3 +database$/);
    expect(lines[2]).toMatch(/cooling .* all models until 2026-11-18 11:06:40 UTC \(rate_limited\)$/);
    expect(lines[3]).toMatch(/^messages +both +disabled .* revoked$/);
    const json = (await line.run('account', 'list', '-o', 'json')).json();
    expect(json[1]).toMatchObject({ id: 'responses/both', state: 'cooling', cooldowns: [{ reason: 'rate_limited' }] });
  });

  it('adds an account with the secret of a file, and never shows it', async () => {
    const { line, asked } = commandLine();
    const flags = ['--secret-file', secretFile, '--models', 'gpt-*, o*', '--max-concurrency', '5'];
    const { exitCode, printed, notes } = await line.run('account', 'add', 'responses/b', ...flags);
    expect(exitCode).toBe(0);
    expect(printed + notes).not.toContain('canary');
    expect(asked).toMatchObject([
      {
        account: { pool: 'responses', name: 'b', models: ['gpt-*', 'o*'], maxConcurrency: 5 },
        credential: { credential: { case: 'bearer', value: 'sk-canary' } },
      },
    ]);
  });

  it('sends keys in the header that the pool expects, unless --kind or the account says otherwise', async () => {
    const { line, asked } = commandLine();
    const secret = ['--secret-file', secretFile];
    const added = await line.run('account', 'add', 'messages/b', ...secret);
    expect(added.notes).toBe('added messages/b (api_key)\ncheck it with gatewayctl doctor --probe');
    await line.run('account', 'add', 'messages/c', '--kind', 'bearer', ...secret);
    await line.run('account', 'add', 'responses/b', ...secret);
    await line.run('account', 'replace-credential', 'messages/both', ...secret);
    await line.run('account', 'replace-credential', 'proxied', ...secret);
    const sent = (kind: string) => ({ credential: { credential: { case: kind } } });
    expect(asked).toMatchObject(['apiKey', 'bearer', 'bearer', 'apiKey', 'bearer'].map(sent));
  });

  it('accepts oauth with its token endpoint', async () => {
    const { line, asked } = commandLine();
    const oauth = ['--token-url', 'https://auth.example/token', '--client-id', 'me', '--scopes', 'a,b'];
    const files = ['--secret-file', secretFile, '--client-secret-file', secretFile];
    await line.run('account', 'replace-credential', 'a', '--kind', 'oauth', ...oauth, ...files);
    expect(asked).toMatchObject([
      {
        accountId: 'responses/a',
        credential: {
          credential: { case: 'oauth', value: { refreshToken: 'sk-canary', clientId: 'me', scopes: ['a', 'b'] } },
        },
      },
    ]);
  });

  it('enables, drains, disables and removes, by pool/name or by a name that only one pool has', async () => {
    const { line, asked } = commandLine();
    await line.run('account', 'enable', 'responses/both');
    await line.run('account', 'drain', 'a');
    await line.run('account', 'disable', 'a');
    await line.run('account', 'remove', 'a');
    expect(asked).toMatchObject([
      { accountId: 'responses/both', use: AccountUse.ACTIVE },
      { accountId: 'responses/a', use: AccountUse.DRAINING },
      { accountId: 'responses/a', use: AccountUse.DISABLED },
      { accountId: 'responses/a' },
    ]);
    expect(await line.run('account', 'drain', 'both')).toMatchObject({
      exitCode: 2,
      notes: 'gatewayctl: both matches responses/both and messages/both. Use the full name.',
    });
    expect(await line.run('account', 'drain', 'nobody')).toMatchObject({ exitCode: 1 });
  });

  it('says which pauses end when an account is enabled, and what that means', async () => {
    const untilMs = 1_795_000_000_000;
    const ended = [
      { untilMs, reason: AttemptResult.RATE_LIMITED, givenByProvider: true },
      { untilMs, reason: AttemptResult.FEATURE_UNAVAILABLE, feature: 'context-1m-*' },
    ];
    const line = new CommandLine((router) => {
      router.service(AccountService, { setAccountState: () => ({ ended }) });
    });
    const { exitCode, notes } = await line.run('account', 'enable', 'responses/a');
    expect(exitCode).toBe(0);
    expect(notes.split('\n')).toEqual([
      expect.stringContaining('responses/a is active'),
      expect.stringMatching(/^ended its pause for all models until 2026-11-18 .* \(rate_limited\)$/),
      expect.stringMatching(/^ended its pause for context-1m-\* until .* \(feature_unavailable\)$/),
      'if the cause lasts, the provider refuses the next request, and the account pauses again',
    ]);
  });

  it.each<[string, readonly string[], RegExp]>([
    ['a name without its pool', ['b'], /must be pool\/name/],
    ['oauth without an endpoint', ['responses/b', '--kind', 'oauth'], /needs --token-url.*needs --client-id/],
    ['flags of another kind', ['responses/b', '--client-id', 'c'], /--client-id is for --kind oauth only/],
    ['a file that is not there', ['responses/b', '--secret-file', '/nowhere/secret'], /can't be read \(ENOENT\)/],
    ['no place at all', ['responses/b', '--max-concurrency', '0'], /--max-concurrency.*from 1/],
  ])('refuses %s, and sends nothing', async (_what, args, says) => {
    const { line, asked } = commandLine();
    const refused = await line.run('account', 'add', ...args);
    expect(refused).toMatchObject({ exitCode: 2, notes: expect.stringMatching(says) });
    expect(asked).toEqual([]);
  });

  it.each([
    ['empty', '\n'],
    ['of two lines', 'sk-canary\nmore-canary'],
  ])('refuses a secret that is %s, without repeating it', async (_what, secret) => {
    const refusal = await readSecret(undefined, Readable.from([secret])).catch(String);
    expect(refusal).toMatch(/the secret/);
    expect(refusal).not.toContain('canary');
  });

  it('reads a secret from standard input, but not from a terminal', async () => {
    expect(await readSecret('-', Readable.from(['sk-canary\n']))).toBe('sk-canary');
    const terminal = Object.assign(Readable.from(['sk-canary']), { isTTY: true });
    await expect(readSecret(undefined, terminal)).rejects.toThrow(/Pipe the secret in/);
  });

  it('rotates keys in the database, and reports accounts that it could not decrypt', async () => {
    const keyOf = (id: string) => `${id}:${Buffer.alloc(32, id).toString('base64')}`;
    const env = { GATEWAY_DATA: folder, ADMIN_PORT: '1', ACCOUNT_KEYS: keyOf('k1') };
    await using database = await openGatewayDatabase(env);
    await migrate(database.handle);
    const table = new AccountTable(database.handle);
    for (const name of ['b', 'c']) {
      const credential = { kind: 'bearer', secret: new Secret('sk-canary') } as const;
      const account = { pool: 'responses', name, credential, state: 'active', models: undefined } as const;
      await table.add({ ...account, maxConcurrency: undefined }, new Encryption(readRequiredKeys(env)));
    }
    const rotate = (keys: string) =>
      new CommandLine(() => {}, { ...env, ACCOUNT_KEYS: keys }).run('account', 'rotate-keys');
    expect(await rotate(`${keyOf('k2')},${keyOf('k1')}`)).toMatchObject({
      exitCode: 0,
      notes: `re-encrypting in the embedded database ${join(folder, 'gateway.sqlite')}\n0 of 2 are encrypted with k2\n2 of 2 are encrypted with k2`,
    });
    const refused = await rotate(keyOf('k3'));
    expect(refused.exitCode).toBe(1);
    expect(refused.notes).toMatch(/can't be decrypted .* responses\/c \(credential\)/);
    expect(await rotate('')).toMatchObject({
      exitCode: 1,
      notes: expect.stringContaining('Set it as for the brokers, the new key first: ACCOUNT_KEYS=k2:<new key>,k1:'),
    });
    const entries = await database.handle.selectFrom('audit_log').selectAll().orderBy('at_ms').execute();
    expect(
      entries.map(({ actor, action, subject, outcome, details }) => [actor, action, subject, outcome, details]),
    ).toEqual([
      ['gatewayctl', 'account.rotate_keys', 'k2', 'done', '{"after":{"total":2,"done":2,"refused":[]}}'],
      ['gatewayctl', 'account.rotate_keys', 'k3', 'done', expect.stringContaining('responses/c (credential)')],
    ]);
  });

  it('rotates no keys of another database than that of the running gateway', async () => {
    const keys = `k1:${Buffer.alloc(32, 'k1').toString('base64')}`;
    const env = { GATEWAY_DATA: join(folder, 'data'), GATEWAY_ADMIN_URL: 'http://127.0.0.1:1', ACCOUNT_KEYS: keys };
    const rotate = (...flags: readonly string[]) =>
      new CommandLine(() => {}, env).run(...flags, 'account', 'rotate-keys');
    const refused = await rotate();
    expect(refused.exitCode).toBe(1);
    expect(refused.notes).toMatch(/^gatewayctl: GATEWAY_ADMIN_URL names a gateway, but DATABASE_URL is not set/);
    expect(await readdir(folder)).toEqual(['secret']);
    expect(await rotate('--offline')).toMatchObject({
      exitCode: 0,
      notes: expect.stringMatching(/^re-encrypting in .*gateway\.sqlite\n0 of 0 are encrypted with k1$/),
    });
  });
});
