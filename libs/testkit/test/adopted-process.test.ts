import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach, expect, it } from 'vitest';
import { AdoptedProcess } from '../src/processes/adopted-process.ts';
import type { ProcessPlan } from '../src/processes/managed-process.ts';
import { ProcessReaper } from '../src/processes/process-reaper.ts';
import { freePort } from '../src/servers/ports.ts';

const script = `
  const server = require('node:http').createServer((request, response) => response.end(String(process.pid)));
  server.listen(Number(process.argv[1]), '127.0.0.1');
  process.on('SIGTERM', () => process.exit(0));
`;

const stack: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of stack.splice(0)) await end();
});

async function anAdoptedProcess() {
  const port = await freePort();
  const ask = async () => (await fetch(`http://127.0.0.1:${port}`, { signal: AbortSignal.timeout(500) })).text();
  const plan: ProcessPlan = {
    name: 'the server',
    command: process.execPath,
    parameters: ['-e', script, String(port)],
    env: {},
    cwd: '/',
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 10_000,
    ping: async () => void (await ask()),
  };
  const child: ChildProcess = spawn(plan.command, [...plan.parameters], { stdio: 'ignore' });
  const reaper = new ProcessReaper();
  const adopted = new AdoptedProcess(child.pid ?? 0, plan, reaper);
  stack.push(async () => {
    child.kill('SIGKILL');
    await adopted[Symbol.asyncDispose]();
    await reaper.dismiss();
  });
  await expect.poll(() => ask().catch(() => ''), { timeout: 10_000 }).toBe(String(child.pid));
  return { adopted, ask, child };
}

it.each(['kill', 'stop'] as const)('is started again by the same plan after %s', async (end) => {
  const { adopted, ask, child } = await anAdoptedProcess();
  expect(adopted.pid).toBe(child.pid);
  await adopted[end]();
  expect(adopted.pid).toBeUndefined();
  await expect(ask()).rejects.toThrow();
  await adopted.restart();
  expect(adopted.pid).not.toBe(child.pid);
  expect(await ask()).toBe(String(adopted.pid));
  await adopted.kill();
  await expect(ask()).rejects.toThrow();
});

it('answers nothing while it is paused', async () => {
  const { adopted, ask } = await anAdoptedProcess();
  await adopted.pause();
  await expect(ask()).rejects.toThrow();
  await adopted.resume();
  expect(await ask()).toBe(String(adopted.pid));
});

it('is left to the process that started it when it is disposed', async () => {
  const { adopted, ask, child } = await anAdoptedProcess();
  await adopted[Symbol.asyncDispose]();
  expect(await ask()).toBe(String(child.pid));
});
