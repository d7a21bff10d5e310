import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProgram } from '@gateway/gatewayctl/program';
import { freePorts } from '@gateway/testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { usageOf } from '../client/usage.ts';
import { gatewayctl, startGatewayctl, untilReady } from '../topologies/gateway-process.ts';

// Each of about twenty commands is a process.
vi.setConfig({ testTimeout: 240_000 });

/** Commands whose effect this suite checks, and the only other ones. */
const changing = [
  ...['token issue', 'token set', 'token rotate', 'token revoke'],
  ...['account add', 'account replace-credential', 'account enable', 'account drain', 'account disable'],
  ...['account label', 'account remove', 'account rotate-keys', 'group create', 'group set', 'group delete'],
  ...['operator create', 'operator set-role', 'operator disable', 'operator enable', 'operator rotate-token'],
];
const others = [
  ...['start', 'login', 'logout', 'whoami', 'snippet', 'doctor', 'completion', 'complete'],
  ...['token list', 'token show', 'account list', 'pool status', 'pool explain', 'class list'],
  ...['request show', 'request list', 'request tail', 'usage report', 'usage export'],
  ...['config show', 'config check', 'system status', 'system replicas', 'operator list', 'audit list'],
  ...['group list', 'group show', 'alert list', 'alert test', 'person list', 'person show', 'token print'],
  // They use no database.
  ...['import litellm', 'shadow'],
  // They have suites of their own, with a database to migrate, usage to repair, and people.
  ...['migrate', 'usage reconcile', 'usage replay-dead-letters'],
  ...['person end-sessions', 'person disable', 'person enable'],
];

describe('gatewayctl without a running gateway', () => {
  let folder: string;
  let env: Record<string, string>;
  let adminUrl: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-offline-'));
    const [port, adminPort] = await freePorts(2);
    adminUrl = `http://127.0.0.1:${adminPort}`;
    env = { PORT: String(port), ADMIN_PORT: String(adminPort), GATEWAY_DATA: join(folder, 'data') };
    await writeFile(join(folder, 'secret'), 'sk-canary\n');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Returns what the command printed. It may say where it wrote, and nothing that a log would. */
  async function run(command: string): Promise<string> {
    const { exitCode, stdout, stderr } = await gatewayctl(command.split(' '), env);
    expect([command, exitCode, stderr]).toEqual([command, 0, expect.not.stringMatching(/[{}]|canary/)]);
    return stdout;
  }
  const list = async (what: string) => JSON.parse(await run(`${what} list -o json`));
  const states = async () => {
    const accounts: readonly { readonly id: string; readonly use?: string; readonly source?: string }[] =
      await list('account');
    return Object.fromEntries(
      accounts.filter(({ id }) => id.startsWith('responses/x')).map(({ id, use = 'active' }) => [id, use]),
    );
  };

  it('makes every change that lasts when the gateway starts', async () => {
    const secret = `--secret-file ${join(folder, 'secret')}`;
    for (const name of ['x1', 'x2', 'x3', 'x4']) await run(`account add responses/${name} ${secret}`);
    await run('account disable responses/x1');
    await run('account drain x2');
    await run('account disable responses/x3');
    await run('account enable responses/x3');
    await run(`account replace-credential responses/x3 --kind api_key ${secret}`);
    await run('account remove responses/x4');
    await run('account label responses/x3 team-a,reserved');
    const accounts = { 'responses/x1': 'disabled', 'responses/x2': 'draining', 'responses/x3': 'active' };
    expect(await states()).toEqual(accounts);
    env = { ...env, ACCOUNT_KEYS: `own:${Buffer.alloc(32, 'own').toString('base64')}` };
    await run('account rotate-keys');

    for (const name of ['one', 'two']) await run(`token issue --label ${name}`);
    for (const name of ['team', 'gone']) await run(`group create ${name} --concurrent 3`);
    await run('group set team --rpm 70');
    await run('group delete gone');
    await run('token set one --rpm 7 --group team');
    const rotated = (await run('token rotate one')).trim();
    await run('token revoke two');

    for (const name of ['ann', 'bob']) await run(`operator create ${name} viewer`);
    await run('operator disable ann');
    await run('operator enable ann');
    await run('operator set-role ann admin');
    await run('operator disable bob');
    const ofAnn = (await run('operator rotate-token ann')).trim();

    await using command = startGatewayctl(['start'], env);
    await untilReady(adminUrl, command);
    env = { ...env, GATEWAY_ADMIN_URL: adminUrl, GATEWAY_ADMIN_TOKEN: ofAnn };
    expect(await states()).toEqual(accounts);
    const kinds = (await list('account')) as readonly ListedAccount[];
    expect(kinds.find(({ id }) => id === 'responses/x3')?.credentialKind).toBe('api_key');
    expect(kinds.find(({ id }) => id === 'responses/x3')?.labels).toEqual(['team-a', 'reserved']);
    const [group, ...others] = (await run('group list')).trim().split('\n').slice(1);
    expect({ group, others }).toEqual({ group: expect.stringMatching(/team +1 +0 of 70 +– +0 of 3/), others: [] });
    expect(await run('token show two')).toContain('revoked');
    const { limits } = await usageOf({ baseUrl: `http://127.0.0.1:${env.PORT}` }, rotated);
    expect(limits).toMatchObject({ requestsPerMinute: { limit: 7 } });
    const operators = (await run('operator list')).split('\n');
    expect(operators.find((line) => line.includes('ann'))).toMatch(/admin/);
    expect(operators.find((line) => line.includes('bob'))).toMatch(/disabled/);
  });

  it('is checked with every command', async () => {
    const connect = () => expect.fail('no command is run');
    const program = await buildProgram({ env: {}, connect });
    const commands = program.commands.flatMap((group) =>
      group.commands.length === 0
        ? [group.name()]
        : group.commands.map((command) => `${group.name()} ${command.name()}`),
    );
    expect([...changing, ...others].toSorted()).toEqual(commands.toSorted());
  });
});

interface ListedAccount {
  readonly id: string;
  readonly credentialKind: string;
  readonly labels?: readonly string[];
}
