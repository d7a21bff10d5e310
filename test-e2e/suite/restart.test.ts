import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Simulator, startSimulator } from '@gateway/simulator';
import { freePorts } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { adminTokenIn, operatorByApi } from '../client/operator.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { withinAMinute } from '../faults/within-a-minute.ts';
import { writeSmallGatewayFile } from '../topologies/gateway-file.ts';
import { gatewayctl, type RunningCommand, startGatewayctl, untilReady } from '../topologies/gateway-process.ts';
import { suiteSettings } from '../topologies/topology.ts';

// Three starts in each test, which take long on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

describe.each([
  ['one process', {}],
  ['two workers', { GATEWAY_WORKERS: '2' }],
])('the embedded gateway in %s, started again on its folder', (_how, workers: Record<string, string>) => {
  let folder: string;
  let simulator: Simulator;
  let env: Record<string, string>;
  let baseUrl: string;
  let adminUrl: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-restart-'));
    simulator = await startSimulator({ eventDelayMs: 50 });
    env = {
      ...suiteSettings,
      ...workers,
      GATEWAY_DATA: join(folder, 'data'),
      GATEWAY_CONFIG: await writeSmallGatewayFile(folder, simulator.url),
    };
    await choosePorts();
  });
  afterEach(async () => {
    await simulator[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const choosePorts = async () => {
    const [port, adminPort] = await freePorts(2);
    [baseUrl, adminUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${adminPort}`];
    env = { ...env, PORT: String(port), ADMIN_PORT: String(adminPort) };
  };
  const start = async (): Promise<RunningCommand> => {
    const command = startGatewayctl(['start'], env);
    await untilReady(adminUrl, command);
    return command;
  };
  const operator = async () => operatorByApi({ adminUrl, adminToken: await adminTokenIn(join(folder, 'data')) });
  const post = (path: string, token: string, body: object) =>
    fetch(`${baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(roomMs(30_000)),
    });
  const messages = [{ role: 'user', content: 'Hello there' }];
  const status = async (answer: Promise<Response>) => {
    const response = await answer;
    await response.text();
    return response.status;
  };
  const chat = (token: string) => status(post('/v1/chat/completions', token, { model: 'gateway/snel', messages }));

  it.each(['SIGTERM', 'SIGKILL'] as const)('counts every request of the last minute after %s', async (signal) => {
    await withinAMinute(async () => {
      let token = '';
      const limit = 7;
      {
        await using first = await start();
        token = (
          await issueToken({ operator: await operator() }, { requestsPerMinute: limit, tokensPerDay: 1_000_000 })
        ).text;
        expect(await chat(token)).toBe(200);
        expect(await status(post('/v1/chat/completions', token, { model: 'gateway/snel', messages: [] }))).toBe(400);
        const counted = { model: 'claude-sonnet-5', messages };
        expect(await status(post('/v1/messages/count_tokens', token, counted))).toBe(200);
        expect(await status(fetch(`${baseUrl}/v1/models`, { headers: { authorization: `Bearer ${token}` } }))).toBe(
          200,
        );
        // A request that still runs when the process ends.
        const running = await post('/v1/chat/completions', token, { model: 'gateway/claude', messages, stream: true });
        expect(running.status).toBe(200);
        first.kill(signal);
        await running.text().catch(() => undefined);
        await first.ended;
      }
      await using _second = await start();
      const { limits } = await usageOf({ baseUrl }, token);
      expect(limits.requestsPerMinute).toMatchObject({ limit, remaining: limit - 5 });
      expect([await chat(token), await chat(token), await chat(token)]).toEqual([200, 200, 429]);
      const spent = async () => {
        const { today, limits } = await usageOf({ baseUrl }, token);
        return {
          requests: today.requests,
          unaccounted: 1_000_000 - today.totalTokens - (limits.tokensPerDay?.remaining ?? 0),
        };
      };
      // One before, the one that was cut off, and two now.
      await expect.poll(spent).toEqual({ requests: 4, unaccounted: 0 });
    });
  });

  it('is the only one on it: a second one ends and names the first, whose death frees the folder at once', async () => {
    {
      await using first = await start();
      const firstAdminUrl = adminUrl;
      await choosePorts();
      await using refused = startGatewayctl(['start'], env);
      const second = await Promise.race([refused.ended, until(roomMs(120_000))]);
      expect(second.exitCode).toBe(1);
      expect(second.stderr).toContain(String(first.pid));
      expect(second.stderr).toContain(join(folder, 'data'));
      expect(second.stderr).toContain('GATEWAY_DATA');
      expect(second.stderr.match(/can't start/g)).toHaveLength(1);
      expect(second.stderr).not.toContain('    at ');
      expect((await fetch(`${firstAdminUrl}/readyz`)).status).toBe(200);
      // No gateway answers at the second one's ports: the command uses the database itself only
      // with the flag for it.
      const create = ['token', 'create', '--label', 'beside'];
      const unsure = await gatewayctl(create, env);
      expect([unsure.exitCode, unsure.stdout]).toEqual([1, '']);
      expect(unsure.stderr).toContain(`a gateway (process ${first.pid} on`);
      expect(unsure.stderr).toContain('GATEWAY_ADMIN_URL');
      const created = await gatewayctl([...create, '--offline'], env);
      expect(created.stdout).toMatch(/^gw_\w+\n$/);
      first.kill('SIGKILL');
      await first.ended;
    }
    await using _third = await start();
  });

  it('narrows the modes of what it keeps to its own user', async () => {
    const data = join(folder, 'data');
    {
      await using _first = await start();
    }
    await Promise.all((await filesIn(data)).map((path) => chmod(path, 0o644)));
    await using _command = await start();
    const token = await issueToken({ operator: await operator() }, { requestsPerMinute: 5 });
    expect(await chat(token.text)).toBe(200);
    const files = await filesIn(data);
    expect(files).toContain(join(data, 'gateway.sqlite-wal'));
    const modes = await Promise.all(files.map(async (path) => [path, (await stat(path)).mode & 0o777]));
    expect(modes.filter(([, mode]) => mode !== 0o600)).toEqual([]);
    expect((await stat(join(data, 'outbox'))).mode & 0o777).toBe(0o700);
  });
});

async function until(timeoutMs: number): Promise<never> {
  await setTimeout(timeoutMs, undefined, { ref: false });
  throw new Error(`it still runs after ${timeoutMs} ms`);
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}
