import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@gateway/simulator';
import { freePorts, serviceNames } from '@gateway/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chatAfresh } from '../client/fresh-connection.ts';
import { adminTokenIn, operatorByApi } from '../client/operator.ts';
import { issueToken } from '../client/tokens.ts';
import { writeSmallGatewayFile } from '../topologies/gateway-file.ts';
import { type RunningCommand, startCommand, startNpmScript, untilReady } from '../topologies/gateway-process.ts';
import { ownBackends } from '../topologies/own-backends.ts';
import { processMark } from '../topologies/processes-of.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };

describe('--version', () => {
  it.each(readdirSync('services'))('says which build %s is, and starts nothing', async (service) => {
    await using command = startCommand(process.execPath, [`services/${service}/src/main.ts`, '--version'], {
      GATEWAY_REVISION: 'abc123',
    });
    const { exitCode, stdout } = await command.ended;
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${service} ${version} (revision abc123)\n` });
  });
});

describe('a signal to npm', () => {
  let folder: string;
  let stack: AsyncDisposableStack;
  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    folder = await mkdtemp(join(tmpdir(), 'gateway-npm-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
  });
  afterEach(() => stack.disposeAsync());

  const untilSaid = (command: RunningCommand, text: string) =>
    expect.poll(() => command.stdout(), { interval: 100 }).toContain(text);

  it.each([
    { script: 'start', args: [] },
    { script: 'start', args: ['--workers', '2'] },
    { script: 'simulator', args: ['--port', '0'] },
  ])('ends all that it has started: $script $args', async ({ script, args }) => {
    const mark = processMark();
    const env = { ...mark.env, PORT: '0', ADMIN_PORT: '0', GATEWAY_DATA: join(folder, 'data') };
    await using command = startNpmScript(script, env, args);
    await untilSaid(command, 'curl ');
    process.kill(command.pid, 'SIGTERM');
    await command.ended;
    await expect.poll(() => mark.running()).toEqual([]);
  });

  it('ends all that it has started: start:services', async () => {
    const mark = processMark();
    const { redisUrl, natsUrl, postgresUrl } = await ownBackends(stack);
    const simulator = stack.use(await startSimulator());
    const [port] = await freePorts(1);
    await using command = startNpmScript('start:services', {
      ...mark.env,
      PORT: String(port),
      ADMIN_PORT: '0',
      GATEWAY_CONFIG: await writeSmallGatewayFile(folder, simulator.url),
      GATEWAY_DATA: join(folder, 'data'),
      REDIS_URL: redisUrl,
      NATS_URL: natsUrl,
      DATABASE_URL: postgresUrl,
      TOKEN_HASH_KEY: Buffer.alloc(32, 7).toString('base64'),
    });
    await untilSaid(command, '\ncurl ');
    expect((await mark.running()).filter((line) => line.includes('/src/main.ts'))).toHaveLength(serviceNames.length);
    process.kill(command.pid, 'SIGTERM');
    await command.ended;
    await expect.poll(() => mark.running()).toEqual([]);
  });

  it('lets running streams end after Ctrl-C, which reaches npm and its child processes', async () => {
    const simulator = stack.use(await startSimulator({ eventDelayMs: 20 }));
    const [port, adminPort] = await freePorts(2);
    await using command = startNpmScript('start', {
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      GATEWAY_DATA: join(folder, 'data'),
      GATEWAY_CONFIG: await writeSmallGatewayFile(folder, simulator.url),
    });
    const adminUrl = `http://127.0.0.1:${adminPort}`;
    await untilReady(adminUrl, command);
    const adminToken = await adminTokenIn(join(folder, 'data'));
    const token = await issueToken({ operator: operatorByApi({ adminUrl, adminToken }) }, { kind: 'personal' });
    const stream = chatAfresh({ baseUrl: `http://127.0.0.1:${port}` }, token.text, {
      model: 'gateway/claude',
      stream: true,
      messages: [{ role: 'user', content: '#long 200' }],
    });
    await stream.began;
    process.kill(-command.pid, 'SIGINT');
    expect(await stream.answer).toMatchObject({ brokeOff: false, text: expect.stringMatching(/data: \[DONE\]\n\n$/) });
    await command.ended;
  });
});

describe('the scripts that count', () => {
  it('say which files one relayed request executes, and that they are within their budget', async () => {
    await using command = startNpmScript('count:files', {});
    const { exitCode, stdout } = await command.ended;
    expect(stdout).toMatch(/^services\/edge-router +\d+ +\d+$/m);
    expect(stdout).toMatch(/^to read +\d+ +\d+$/m);
    expect(exitCode).toBe(0);
  });

  it('say how many lines of source each package has, and that they are within its budget', async () => {
    await using command = startNpmScript('count:lines', {});
    const { exitCode, stdout } = await command.ended;
    expect(stdout).toMatch(/^libs\/sse +\d+ +\d+ +\d+/m);
    expect(stdout).toMatch(/^all +\d+ +\d+ +\d+$/m);
    expect(exitCode).toBe(0);
  });
});
