import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@gateway/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { allAlerts } from './observability/alerts/all-alerts.ts';

it('scrapes the gateway with all rules loaded, reports which targets answer, and ends with Ctrl-C', async () => {
  const gateway = await startMetrics('gateway_build_info{version="1",revision="2"} 1\n');
  const [port, nobody] = [await freePort(), await freePort()];
  const observe = run(['--port', `${port}`, '--targets', `gateway=${gateway},limiter=127.0.0.1:${nobody}`]);

  await expect.poll(observe.output, { interval: 200 }).toContain('limiter at');
  expect(observe.output()).toContain(`http://127.0.0.1:${port}`);
  expect(observe.output()).toMatch(/gateway at 127\.0\.0\.1:\d+ is up\n/);
  expect(observe.output()).toMatch(/limiter at 127\.0\.0\.1:\d+ is down: .*refused.*ADMIN_PORT/);

  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).text();
  expect(await ask('query?query=gateway_build_info')).toContain('"job":"gateway"');
  const rules = await ask('rules?type=alert');
  expect(allAlerts.filter(({ name }) => !rules.includes(`"name":"${name}"`))).toEqual([]);

  observe.child.kill('SIGINT');
  expect(await observe.ended).toBe(0);
  await expect(fetch(`http://127.0.0.1:${port}/-/ready`)).rejects.toThrow();
});

it('says what a target must look like', async () => {
  for (const target of ['127.0.0.1:9090', 'made-up=127.0.0.1:9090', 'limiter=']) {
    const observe = run(['--targets', target]);
    expect(await observe.ended).toBe(1);
    expect(observe.output()).toContain(`--targets ${target} must be <service>=<address of its ADMIN_PORT>`);
  }
});

function run(parameters: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, 'observe.ts'), ...parameters]);
  let output = '';
  child.stdout?.on('data', (data: Buffer) => {
    output += data.toString();
  });
  child.stderr?.on('data', (data: Buffer) => {
    output += data.toString();
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  onTestFinished(async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    await Promise.race([ended, sleep(15_000)]);
  });
  return { child, ended, output: () => output };
}

async function startMetrics(text: string): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4').end(text);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
