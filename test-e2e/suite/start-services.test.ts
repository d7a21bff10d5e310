import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Simulator, startSimulator } from '@gateway/simulator';
import { freePort, serviceNames, type TestBackends } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { createTokenText } from '@gateway/tokens';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { chatAfresh } from '../client/fresh-connection.ts';
import { operatorByApi } from '../client/operator.ts';
import { issueToken } from '../client/tokens.ts';
import { writeSmallGatewayFile } from '../topologies/gateway-file.ts';
import { gatewayctl, startNpmScript } from '../topologies/gateway-process.ts';
import { ownBackends } from '../topologies/own-backends.ts';
import { processMark } from '../topologies/processes-of.ts';
import { runStartServices, welcomeOf } from '../topologies/start-services.ts';

describe('npm run start:services with accounts of its own', () => {
  const stack = new AsyncDisposableStack();
  let simulator: Simulator;
  let backends: TestBackends;
  let gatewayFile = '';
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-start-services-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    simulator = stack.use(await startSimulator());
    gatewayFile = await writeSmallGatewayFile(folder, simulator.url);
    backends = await ownBackends(stack);
  });
  afterAll(() => stack.disposeAsync());

  const adminToken = createTokenText('operator');
  const settings = async () => ({
    PORT: String(await freePort()),
    GATEWAY_CONFIG: gatewayFile,
    GATEWAY_DATA: join(folder, 'data'),
    REDIS_URL: backends.redisUrl,
    NATS_URL: backends.natsUrl,
    DATABASE_URL: backends.postgresUrl,
    TOKEN_HASH_KEY: Buffer.alloc(32, 7).toString('base64'),
    ADMIN_TOKEN: adminToken,
  });

  it('stays after its welcome, answers, and after Ctrl-C stops everything, callers first', async () => {
    const mark = processMark();
    const env = { ...mark.env, PORT: '0', ADMIN_PORT: '0', GATEWAY_CONFIG: gatewayFile };
    // Without any address: with Redis, NATS and Postgres of its own, and a first token.
    await using command = startNpmScript('start:services', env);
    const { baseUrl, token = '', adminToken: shown = '', adminUrls, pids } = await welcomeOf(command);
    await sleep(1_000);
    expect((await chat({ baseUrl }, token, { model: 'gateway/claude' })).status).toBe(200);
    const operator = operatorByApi({ adminUrl: adminUrls.admin, adminToken: shown });
    expect(await operator.accountsOf('messages')).not.toEqual([]);
    for (const name of serviceNames) expect(() => process.kill(pids[name], 0)).not.toThrow();
    expect(command.stdout()).toMatch(/^ +REDIS_URL +redis:\/\/127\.0\.0\.1:\d+$/m);
    expect(command.stdout()).toMatch(/^ +NATS_URL +nats:\/\/127\.0\.0\.1:\d+$/m);
    expect(command.stdout()).toMatch(/^ +DATABASE_URL +postgresql:\/\/postgres@127\.0\.0\.1:\d+\/postgres$/m);
    const targets = serviceNames.map((name) => `${name}=${adminUrls[name]}`);
    expect(command.stdout()).toContain(`npm run observe -- --targets ${targets.join(',')}\n`);
    process.kill(-command.pid, 'SIGINT');
    const { exitCode, stderr } = await command.ended;
    expect(exitCode).toBe(0);
    expect(stderr).toContain('stopping after SIGINT');
    expect(stderr).not.toContain('continue without it');
    await expect.poll(() => mark.running()).toEqual([]);
    const stopped = stoppedServices(stderr);
    expect([...stopped].sort()).toEqual([...serviceNames].sort());
    expect(stopped.slice(0, 2).toSorted()).toEqual(['admin', 'edge-router']);
    expect(stopped.at(-1)).toBe('usage-query');
  });

  it('is ended at once by a second signal, and leaves nothing behind', async () => {
    const mark = processMark();
    const { command, stream } = await withRunningStream({ ...(await settings()), ...mark.env });
    await using _ = command;
    command.kill('SIGTERM');
    await expect.poll(() => command.stderr()).toContain('stopping after SIGTERM');
    await sleep(1_200);
    expect(command.stderr()).not.toMatch(/edge-router .*"stopped"/);
    command.kill('SIGTERM');
    expect((await command.ended).exitCode).toBe(1);
    await expect.poll(() => mark.running()).toEqual([]);
    // Whichever process ends first: the answer is not complete.
    expect((await stream.answer).text).not.toContain('data: [DONE]');
  });

  it('stops in order when the signal comes while it starts', async () => {
    const mark = processMark();
    await using command = runStartServices({ ...(await settings()), ...mark.env });
    await expect.poll(() => command.stderr(), { interval: 20 }).toMatch(/"msg":"started"/);
    command.kill('SIGTERM');
    const { exitCode, stdout, stderr } = await command.ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
    expect(stderr).toContain('stopping after SIGTERM');
    await expect.poll(() => mark.running()).toEqual([]);
  });

  it.each([
    [
      'a setting',
      { USAGE_BATCH_EVENTS: 'many' },
      /usage-ingest can't start:\n.*USAGE_BATCH_EVENTS must be a whole number/,
    ],
    ['a file', { GATEWAY_CONFIG: '/no/such/gateway.yaml' }, /can't start:\n.*\/no\/such\/gateway\.yaml/],
  ])('reports the problem of %s, exits with status 1, and leaves nothing behind', async (_, wrong, expected) => {
    const mark = processMark();
    await using command = runStartServices({ ...(await settings()), ...mark.env, ...wrong });
    const { exitCode, stdout, stderr } = await command.ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(lastWordsOf(stderr)).toMatch(expected);
    expect(stderr).not.toContain('    at ');
    await expect.poll(() => mark.running()).toEqual([]);
  });

  it('has its admin service where ADMIN_PORT says, so that gatewayctl finds it by the same variable', async () => {
    const adminPort = String(await freePort());
    await using command = runStartServices({ ...(await settings()), ADMIN_PORT: adminPort });
    const { baseUrl, adminUrls } = await welcomeOf(command);
    expect(adminUrls.admin).toBe(`http://127.0.0.1:${adminPort}`);
    const shell = { ADMIN_PORT: adminPort, GATEWAY_ADMIN_TOKEN: adminToken, GATEWAY_DATA: join(folder, 'unused') };
    const { stdout, stderr } = await gatewayctl(['token', 'create', '--label', 'by port'], shell);
    expect(stderr).not.toContain('database');
    expect((await chat({ baseUrl }, stdout.trim(), { model: 'gateway/claude' })).status).toBe(200);
  });

  it('takes its GATEWAY_CONFIG even if the file has no account, and simulates nothing', async () => {
    const file = join(folder, 'without-accounts.yaml');
    await writeFile(file, 'pools:\n  ours: { format: responses, owned_by: us, base_url: "http://127.0.0.1:9" }\n');
    await using command = runStartServices({ ...(await settings()), GATEWAY_CONFIG: file });
    const { adminUrls } = await welcomeOf(command);
    expect(command.stdout()).not.toContain('simulated');
    const shell = { GATEWAY_ADMIN_URL: adminUrls.admin, GATEWAY_ADMIN_TOKEN: adminToken };
    const { stdout } = await gatewayctl(['config', 'show'], shell);
    expect(stdout).toMatch(new RegExp(`^gateway\\.yaml +${file}$`, 'm'));
  });

  it('says how to start a killed service again, and does it', async () => {
    await using command = runStartServices(await settings());
    const { pids, adminUrls } = await welcomeOf(command);
    expect(command.stdout()).toMatch(/^ +Token +npx gatewayctl token issue --label <name>$/m);
    expect(command.stdout()).toMatch(/^ +REDIS_URL +Redis at \S+$/m);
    process.kill(pids.limiter, 'SIGKILL');
    await expect.poll(() => command.stderr()).toContain('limiter was ended by SIGKILL. The others continue');
    const [, asked] = /Start it again: kill -USR2 (\d+)/.exec(command.stderr()) ?? [];
    process.kill(Number(asked), 'SIGUSR2');
    await expect.poll(() => command.stderr(), { timeout: roomMs(20_000) }).toMatch(/limiter runs again as process \d+/);
    expect((await fetch(`${adminUrls.limiter}/readyz`)).status).toBe(200);
  });

  it.each(['start:services', 'observe'])('is explained, and not started, by --help: %s', async (script) => {
    await using command = startNpmScript(script, {}, ['--help']);
    const { exitCode, stdout } = await command.ended;
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`npm run ${script} -- [options]`);
    expect(stdout).toContain('--certificates <folder>');
  });

  it('learns that PORT and ADMIN_PORT are the same', async () => {
    const env = await settings();
    await using command = runStartServices({ ...env, ADMIN_PORT: env.PORT });
    const { exitCode, stderr } = await command.ended;
    expect(exitCode).toBe(1);
    expect(lastWordsOf(stderr)).toContain(`PORT and ADMIN_PORT are both ${env.PORT}. Set different ports.`);
  });

  it.each([
    ['PORT', 'edge-router'],
    ['ADMIN_PORT', 'admin'],
  ])('says that its %s is taken, ends with code 1, and leaves nothing behind', async (variable, service) => {
    const mark = processMark();
    const port = await freePort();
    const env = { ...(await settings()), ...mark.env, [variable]: String(port) };
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(port, '127.0.0.1', resolve));
    await using command = runStartServices(env);
    const { exitCode, stderr } = await command.ended;
    holder.close();
    expect(exitCode).toBe(1);
    expect(lastWordsOf(stderr)).toContain(`${service} can't start: 127.0.0.1:${port} is in use by another process`);
    await expect.poll(() => mark.running()).toEqual([]);
  });

  async function withRunningStream(env: Readonly<Record<string, string>>) {
    const command = runStartServices(env);
    const { baseUrl, adminUrls } = await welcomeOf(command);
    const operator = operatorByApi({ adminUrl: adminUrls.admin, adminToken });
    const token = await issueToken({ operator }, { kind: 'personal' });
    const fault = { kind: 'delay', betweenEventsMs: 100 } as const;
    for (const letter of ['a', 'b']) simulator.faults.add({ account: `messages-${letter}`, forSeconds: 60, fault });
    const messages = [{ role: 'user', content: '#long 300' }];
    const stream = chatAfresh({ baseUrl }, token.text, { model: 'gateway/claude', stream: true, messages });
    await stream.began;
    return { command, stream };
  }
});

/** In the order of their messages. */
function stoppedServices(log: string): readonly string[] {
  return [...log.matchAll(/^(\S+) +\| .*"msg":"stopped"/gm)].map(([, name = '']) => name);
}

/** From the line at which the whole start gives up. */
function lastWordsOf(log: string): string {
  return log.slice(log.indexOf("The gateway can't start"));
}
