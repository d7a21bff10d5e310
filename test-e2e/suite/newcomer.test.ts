import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@gateway/simulator';
import { freePorts } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventsOf } from '../client/chat.ts';
import { adminTokenIn, operatorByApi } from '../client/operator.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import {
  gatewayctl,
  type RunningCommand,
  startCommand,
  startGatewayctl,
  untilReady,
} from '../topologies/gateway-process.ts';

interface CurlCommand {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

describe('a newcomer without any setting', () => {
  let folder: string;
  let env: Record<string, string>;
  let adminUrl: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-newcomer-'));
    const [port, adminPort] = await freePorts(2);
    adminUrl = `http://127.0.0.1:${adminPort}`;
    env = { PORT: String(port), ADMIN_PORT: String(adminPort), GATEWAY_DATA: join(folder, 'data') };
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const start = async (more: Record<string, string> = {}): Promise<RunningCommand> => {
    const command = startGatewayctl(['start'], { ...env, ...more });
    await untilReady(adminUrl, command);
    await expect.poll(() => command.stdout()).toContain('curl');
    return command;
  };
  const tokenIn = (text: string) => /gw_\w+/.exec(text)?.[0] ?? '';

  it('gets a curl line that streams an answer when pasted', async () => {
    await using command = await start();
    const curl = parseCurl(command.stdout());
    const response = await fetch(curl.url, { method: 'POST', headers: curl.headers, body: curl.body });
    const events = eventsOf(await response.text());
    expect(events[0]).toMatchObject({ choices: [{ delta: { role: 'assistant', content: '' } }] });
    expect(events.at(-2)).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
    expect(events.at(-1)).toBe('[DONE]');
    expect([...response.headers.keys()].filter((name) => name.startsWith('x-ratelimit-'))).toHaveLength(6);
    expect(command.stdout()).toContain('simulated');
  });

  it('reads all of it on one screen, with nothing of the log, and is offered the next steps', async () => {
    await using command = await start();
    const lines = command.stdout().trimEnd().split('\n');
    expect(lines.length).toBeLessThan(20);
    expect(command.stdout()).toMatch(/Set up a client +npx gatewayctl snippet claude-code/);
    expect(command.stderr()).toBe('');
    const [, exported = ''] = /In another terminal +export (.+)/.exec(command.stdout()) ?? [];
    const settings = Object.fromEntries(exported.split(' ').map((each) => each.split('=', 2)));
    const { stdout, exitCode } = await gatewayctl(['snippet', 'claude-code'], settings);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`export ANTHROPIC_BASE_URL=http://127.0.0.1:${env.PORT}\n`);
    expect(stdout).toContain('claude --model gateway/claude\n');
    command.kill('SIGINT');
    expect(await command.ended).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('finds the console where the welcome says, signs in with the token in its folder, and streams with one made there', async () => {
    await using command = await start();
    const [, url = '', file = ''] = /Console +(\S+) +sign in with the token in (\S+)/.exec(command.stdout()) ?? [];
    expect(url).toBe(adminUrl);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await (await fetch(url)).text()).toContain('<div id="console">');
    const adminToken = await adminTokenIn(env.GATEWAY_DATA ?? '');
    const { text } = await issueToken({ operator: operatorByApi({ adminUrl, adminToken }) }, { requestsPerMinute: 5 });
    const { body, ...curl } = parseCurl(command.stdout());
    const headers = { ...curl.headers, Authorization: `Bearer ${text}` };
    const response = await fetch(curl.url, { method: 'POST', headers, body });
    expect(eventsOf(await response.text()).at(-1)).toBe('[DONE]');
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('5');
  });

  it('gets another token for the console when the file with the first one is gone', async () => {
    await using first = await start();
    const before = await adminTokenIn(env.GATEWAY_DATA ?? '');
    first.kill('SIGTERM');
    await first.ended;
    await rm(join(env.GATEWAY_DATA ?? '', 'admin-token'));
    await using _second = await start();
    const after = await adminTokenIn(env.GATEWAY_DATA ?? '');
    const accounts = (adminToken: string) => operatorByApi({ adminUrl, adminToken }).accountsOf('responses');
    expect(await accounts(after)).not.toEqual([]);
    await expect(accounts(before)).rejects.toThrow('unauthenticated');
  });

  it('finds token, usage and day budget again after a restart', async () => {
    const ask = async (command: RunningCommand) => {
      const curl = parseCurl(command.stdout());
      const response = await fetch(curl.url, { method: 'POST', headers: curl.headers, body: curl.body });
      await response.text();
      return usageOf({ baseUrl: `http://127.0.0.1:${env.PORT}` }, tokenIn(command.stdout()));
    };
    let firstToken = '';
    let spent = 0;
    {
      await using command = await start();
      firstToken = tokenIn(command.stdout());
      spent = (await ask(command)).today.totalTokens;
      expect(spent).toBeGreaterThan(0);
    }
    await using command = await start();
    expect(tokenIn(command.stdout())).toBe(firstToken);
    const usage = await ask(command);
    expect(usage.today.requests).toBe(2);
    expect(usage.limits.tokensPerDay?.remaining).toBe(
      (usage.limits.tokensPerDay?.limit ?? 0) - usage.today.totalTokens,
    );
    expect(usage.today.totalTokens).toBe(2 * spent);
  });

  it.each([
    ['in one process', ['start']],
    ['with workers', ['start', '--workers', '2']],
  ])('gets the remedy when the port is taken, %s', async (_how, args) => {
    const taken = await listen(Number(env.PORT));
    const { exitCode, stderr } = await gatewayctl(args, env);
    taken.close();
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(`The gateway can't start: 127.0.0.1:${env.PORT} is in use by another process`);
    expect(stderr.match(/can't start/g)).toHaveLength(1);
    expect(stderr).not.toContain('    at ');
  });

  it('learns that a gateway works on the folder already', async () => {
    await using _command = await start();
    const [port, adminPort] = await freePorts(2);
    const second = { ...env, PORT: String(port), ADMIN_PORT: String(adminPort) };
    const { exitCode, stdout, stderr } = await gatewayctl(['start'], second);
    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/another gateway \(process \d+ on .*\) uses the folder .*GATEWAY_DATA=\.\/data-2/);
  });

  it.runIf(process.platform === 'linux')('learns that nothing can be written in the folder', async () => {
    // On the kernel's own file system, in which even root can't create a folder.
    const { exitCode, stderr } = await gatewayctl(['start'], { ...env, GATEWAY_DATA: '/sys/kernel/data' });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('GATEWAY_DATA: the folder is not writable');
    expect(stderr).toContain('for example ./data');
    expect(stderr).not.toContain('    at ');
  });

  it('learns that its Node is too old, and where the right one is', async () => {
    const asOldNode = `Object.defineProperty(process.versions, 'node', { value: '20.20.2' }); await import('./services/gatewayctl/bin/main.js');`;
    await using command = startCommand(process.execPath, ['--input-type=module', '--eval', asOldNode, 'start'], env);
    const { exitCode, stderr } = await command.ended;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('The gateway needs Node 26, and this is Node 20.20.2.');
    expect(stderr).toContain('node_modules/.bin/node');
  });

  it('learns which numbers of workers there are', async () => {
    const { exitCode, stderr } = await gatewayctl(['start', '--workers', 'many'], env);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('must be auto or a number from 1 to 256, not "many"');
  });

  it.each([
    ['can not be read', undefined, /gateway\.yaml/],
    ['is not YAML', 'pools: [', /line \d+|:\d+:\d+/],
    [
      'has a wrong setting',
      'pools:\n  responses: { format: telepathy, owned_by: x, base_url: "http://127.0.0.1:1" }\n',
      /pools\.responses\.format/,
    ],
  ])('gets the problem of a configuration that %s', async (_what, text, expected) => {
    const path = join(folder, 'gateway.yaml');
    if (text !== undefined) await writeFile(path, text);
    const { exitCode, stderr } = await gatewayctl(['start'], { ...env, GATEWAY_CONFIG: path });
    expect(exitCode).not.toBe(0);
    expect(stderr).toMatch(expected);
    expect(stderr).not.toContain('    at ');
  });

  it('manages tokens with gatewayctl, on the database alone and on the running gateway', async () => {
    const offline = await gatewayctl(
      ['token', 'create', '--kind', 'service', '--label', 'ci', '--rpm', '60', '--tpd', '1000000'],
      env,
    );
    expect(offline.stdout).toMatch(/^gw_\w+\n$/);
    const token = offline.stdout.trim();

    await using command = await start();
    const baseUrl = `http://127.0.0.1:${env.PORT}`;
    const before = await usageOf({ baseUrl }, token);
    expect(before.token).toEqual({ kind: 'service', label: 'ci' });
    expect(before.limits).toMatchObject({ requestsPerMinute: { limit: 60 }, tokensPerDay: { limit: 1_000_000 } });

    const listed = await gatewayctl(['token', 'list', '-o', 'json'], env);
    const rows: readonly { token: { tokenId: string; label: string } }[] = JSON.parse(listed.stdout);
    const id = rows.find((row) => row.token.label === 'ci')?.token.tokenId ?? '';
    expect(listed.stdout).not.toContain(token);
    expect((await gatewayctl(['token', 'set', id, '--rpm', '7', '--tpd', 'none'], env)).exitCode).toBe(0);
    await expect
      .poll(async () => (await usageOf({ baseUrl }, token)).limits)
      .toMatchObject({ requestsPerMinute: { limit: 7 }, tokensPerDay: null });

    expect((await gatewayctl(['token', 'revoke', id], env)).exitCode).toBe(0);
    await expect.poll(async () => usageOf({ baseUrl }, token).catch((thrown) => String(thrown))).toContain('401');
    expect(command.stdout()).toContain('curl');
  });

  it('is shown the first token once when requests go to real providers', async () => {
    const real = { OPENAI_API_KEY: 'sk-test' };
    let token = '';
    {
      await using command = await start(real);
      token = tokenIn(command.stdout());
      expect(token).toMatch(/^gw_s_/);
      expect(command.stdout()).toContain('shown only once');
      expect(command.stdout()).toContain('The pool messages has no usable account');
      expect(command.stdout()).toContain('set ANTHROPIC_API_KEY, or run npx gatewayctl account add messages/main');
      expect((await usageOf({ baseUrl: `http://127.0.0.1:${env.PORT}` }, token)).token.label).toBe('first token');
    }
    const issueProposed = async (command: RunningCommand) => {
      const [, label = ''] = /gatewayctl token issue --label (\S+) /.exec(command.stdout()) ?? [];
      expect((await gatewayctl(['token', 'issue', '--label', label], env)).stderr).not.toContain('another valid token');
      return label;
    };
    {
      await using command = await start(real);
      expect(await issueProposed(command)).toBe('my-first');
    }
    await using command = await start(real);
    expect(command.stdout()).not.toMatch(/gw_\w/);
    expect(await issueProposed(command)).toBe('my-first-2');
    expect((await usageOf({ baseUrl: `http://127.0.0.1:${env.PORT}` }, token)).token.label).toBe('first token');
  });

  it('learns at the start, and from doctor, that a provider rejects the key, and fixes it', async () => {
    await using provider = await startSimulator();
    const config = join(folder, 'real.yaml');
    await writeFile(
      config,
      [
        `pools: { mine: { format: responses, owned_by: mine, base_url: "${provider.url}/v1" } }`,
        'accounts: [{ pool: mine, name: a, credential: { bearer: not-the-key } }]',
        'settings: { model_list_refresh_seconds: 1 }',
      ].join('\n'),
    );
    const rejected = provider.faults.add({ path: '/v1/models', fault: { kind: 'status', status: 401 } });
    await using command = await start({ GATEWAY_CONFIG: config });
    const failure = "its model list can't be read: 401 from the provider";
    expect(command.stdout()).toContain(`mine: ${provider.url}/v1, 1 account, ${failure}`);
    const doctor = await gatewayctl(['doctor'], env);
    expect(doctor.exitCode).toBe(1);
    expect(doctor.stdout).toContain("mine: the provider's model list can't be read: 401 from the provider");

    provider.faults.clear(rejected);
    const repaired = async () => (await gatewayctl(['doctor'], env)).stdout;
    await expect.poll(repaired, { timeout: roomMs(30_000) }).not.toContain("can't be read");
  });

  it('adds a real account while providers are simulated, without a setting, and uses it from the next start on', async () => {
    await using provider = await startSimulator();
    const config = join(folder, 'real.yaml');
    const pool = (format: string) => `{ format: ${format}, owned_by: mine, base_url: "${provider.url}/v1" }`;
    await writeFile(config, `pools: { responses: ${pool('responses')}, messages: ${pool('messages')} }`);
    const secretFile = join(folder, 'secret');
    await writeFile(secretFile, 'sk-mine\n');
    {
      await using command = await start({ GATEWAY_CONFIG: config });
      expect(command.stdout()).toContain('simulated');
      const added = await gatewayctl(['account', 'add', 'responses/mine', '--secret-file', secretFile], env);
      expect(added).toMatchObject({ exitCode: 0 });
      expect((await stat(join(env.GATEWAY_DATA ?? '', 'account-keys'))).mode & 0o777).toBe(0o600);
    }
    await using command = await start({ GATEWAY_CONFIG: config });
    expect(command.stderr()).toBe('');
    expect(command.stdout()).toContain(`responses: ${provider.url}/v1, 1 account, `);
    expect(command.stdout()).toContain(
      'The pool messages has no usable account: its models, /v1/messages and failover to it do not work.',
    );
    expect(command.stdout()).toContain(`add an account to ${config}, or run npx gatewayctl account add messages/main`);
    const doctor = await gatewayctl(['doctor'], env);
    expect(doctor).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('The pool messages has no usable') });
    const listed = await gatewayctl(['account', 'list'], env);
    expect(listed.stdout).toMatch(/responses +mine +available/);
    expect(provider.requests().map(({ account }) => account)).toContain('sk-mine');
  });

  it('learns to which database a command wrote when no gateway runs, and nothing else on standard output', async () => {
    const database = join(env.GATEWAY_DATA ?? '', 'gateway.sqlite');
    const offline = await gatewayctl(['token', 'create', '--label', 'ci'], env);
    expect(offline.stdout).toMatch(/^gw_\w+\n$/);
    expect(offline.stderr).toContain(`written to the embedded database ${database}\n`);
    const id = /created (\S+)/.exec(offline.stderr)?.[1] ?? '';
    for (const args of [
      ['set', id, '--rpm', '5'],
      ['revoke', id],
    ]) {
      const { stdout, stderr, exitCode } = await gatewayctl(['token', ...args], env);
      expect([exitCode, stdout]).toEqual([0, '']);
      expect(stderr).toContain(`written to the embedded database ${database}\n`);
    }
    await using _command = await start();
    const online = await gatewayctl(['token', 'create', '--label', 'ci'], env);
    expect(online.stdout).toMatch(/^gw_\w+\n$/);
    expect(online.stderr).not.toContain('database');
  });

  it('learns which labels there are, by the command before it sends anything and by the gateway', async () => {
    const refused = ['', '   ', 'x'.repeat(101), 'a\u200bb', 'a\u202eb', 'a\u2028b', 'a\nb'];
    for (const label of refused) {
      const { exitCode, stdout, stderr } = await gatewayctl(['token', 'create', '--label', label], env);
      expect([exitCode, stdout]).toEqual([2, '']);
      expect(stderr).toContain('--label: Must ');
    }
    await using _command = await start();
    const authorization = `Bearer ${await adminTokenIn(env.GATEWAY_DATA ?? '')}`;
    const issue = (label: string) =>
      fetch(`${adminUrl}/gateway.admin.v1.TokenService/IssueToken`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization },
        body: JSON.stringify({ kind: 'TOKEN_KIND_SERVICE', label }),
      });
    for (const label of refused) {
      const response = await issue(label);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining('label: Must '),
      });
    }
    expect(await (await issue(` ${'🦊'.repeat(100)} `)).json()).toMatchObject({ token: { label: '🦊'.repeat(100) } });
  });

  it('sees the accounts and their health', async () => {
    await using _command = await start();
    const { stdout, exitCode } = await gatewayctl(['account', 'list'], env);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/responses +team-a +available/);
    expect(stdout).toMatch(/messages +team-b +available/);
  });

  it('learns when a token that is to be revoked does not exist', async () => {
    const { exitCode, stderr } = await gatewayctl(['token', 'revoke', 'nobody'], env);
    expect(exitCode).not.toBe(0);
    expect(stderr).toMatch(/gatewayctl: .*nobody|no token/i);
  });
});

/**
 * Parses the printed command as a shell would: the URL, the headers and the body in single quotes.
 */
function parseCurl(text: string): CurlCommand {
  const line = text.split('\n').find((each) => each.startsWith('curl ')) ?? '';
  const url = /https?:\/\/\S+/.exec(line)?.[0] ?? '';
  const headers = [...line.matchAll(/-H '([^:']+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]);
  return { url, headers: Object.fromEntries(headers), body: /-d '([^']+)'/.exec(line)?.[1] ?? '' };
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject).listen(port, '127.0.0.1', () => resolve(server));
  });
}
