import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { startSimulator } from '@gateway/simulator';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it, onTestFinished } from 'vitest';
import { composeGateway } from './compose.ts';
import { readAllInOneConfig } from './config.ts';

/** A whole gateway with a gateway.yaml whose accounts are `name: key`. */
async function gatewayWith(firstAccounts: Readonly<Record<string, string>>) {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const folder = mkdtempSync(join(tmpdir(), 'reload-'));
  stack.defer(() => rmSync(folder, { recursive: true }));
  const simulator = stack.use(await startSimulator({ eventDelayMs: 20 }));
  const path = join(folder, 'gateway.yaml');
  const write = (accounts: Readonly<Record<string, string>>) => writeFileSync(path, textOf(accounts, simulator.url));
  write(firstAccounts);

  const env = { GATEWAY_CONFIG: path, GATEWAY_DATA: join(folder, 'data'), PORT: '0' };
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const gateway = stack.use(await composeGateway(env, readAllInOneConfig(env), runtime));
  const limits = { requestsPerMinute: 10_000, tokensPerDay: 1_000_000_000 };
  const { tokenText } = await gateway.identity.issue({ kind: TokenKind.SERVICE, label: 'test', limits });
  const ask = (content: string, stream = false) =>
    fetch(`http://127.0.0.1:${gateway.edge.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokenText}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gateway/sterk', stream, messages: [{ role: 'user', content }] }),
    });
  /** Makes one request. Returns the key that the provider received. */
  const keyThatAnswers = async () => {
    const response = await ask('Hi');
    expect(response.status).toBe(200);
    await response.text();
    const answered = simulator
      .requests()
      .filter((request) => request.path === '/v1/responses' && request.status === 200);
    return answered.at(-1)?.account;
  };
  const untilReload = async (result: 'applied' | 'refused') => {
    const line = `gateway_configuration_reloads_total{result="${result}"} 1\n`;
    await expect.poll(() => runtime.metrics.exposition()).toContain(line);
  };
  return { simulator, gateway, write, untilReload, ask, keyThatAnswers };
}

function textOf(accounts: Readonly<Record<string, string>>, simulatorUrl: string): string {
  const lines = Object.entries(accounts).map(
    ([name, key]) => `  - { pool: responses, name: ${name}, credential: { bearer: ${key} } }\n`,
  );
  return `pools: { responses: { format: responses, owned_by: provider_a, base_url: "${simulatorUrl}/v1" } }
accounts:
${lines.join('')}classes: { sterk: { name: Sterk, effort: low, candidates: [responses/gpt-5.5] } }
`;
}

describe('a whole gateway whose gateway.yaml changes', () => {
  it('moves to another account while a stream of the removed one goes on to its end', async () => {
    const { gateway, write, untilReload, ask, keyThatAnswers, simulator } = await gatewayWith({ a: 'key-a' });
    const running = await ask('#long 200', true);
    const text = running.text();
    write({ b: 'key-b' });
    await untilReload('applied');
    expect(await keyThatAnswers()).toBe('key-b');
    const streams = simulator.requests({ account: 'key-a' }).filter(({ path }) => path === '/v1/responses');
    expect(streams.map(({ outcome }) => outcome)).toEqual(['running']);
    expect(await gateway.notReady()).toBeUndefined();
    expect((await text).trimEnd()).toMatch(/data: \[DONE\]$/);
  });

  it('uses the new credential of an account as soon as the provider refuses the one before', async () => {
    const { write, untilReload, keyThatAnswers, simulator } = await gatewayWith({ a: 'key-1' });
    expect(await keyThatAnswers()).toBe('key-1');
    write({ a: 'key-2' });
    await untilReload('applied');
    simulator.faults.add({ account: 'key-1', fault: { preset: 'unauthorized' } });
    expect(await keyThatAnswers()).toBe('key-2');
  });

  it('uses the new credential of an account that had been refused with the one before', async () => {
    const { write, untilReload, ask, keyThatAnswers, simulator } = await gatewayWith({ a: 'key-1' });
    simulator.faults.add({ account: 'key-1', fault: { preset: 'unauthorized' } });
    expect((await ask('Hi')).status).toBe(503);
    write({ a: 'key-2' });
    await untilReload('applied');
    expect(await keyThatAnswers()).toBe('key-2');
  });

  it('serves on as before when the file is broken', async () => {
    const { write, untilReload, gateway, keyThatAnswers } = await gatewayWith({ a: 'key-a' });
    write({});
    await untilReload('refused');
    expect(await keyThatAnswers()).toBe('key-a');
    expect(await gateway.notReady()).toBeUndefined();
    write({ b: 'key-b' });
    await untilReload('applied');
    expect(await keyThatAnswers()).toBe('key-b');
  });
});
