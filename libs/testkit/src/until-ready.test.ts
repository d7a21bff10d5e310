import { expect, it } from 'vitest';
import { ManagedProcess, type ProcessPlan, untilReady } from './managed-process.ts';
import { cpuSecondsOf } from './process-tree.ts';
import { roomMs } from './room/room.ts';

it('asks until there is an answer', async () => {
  let asked = 0;
  const ping = async () => {
    asked += 1;
    if (asked < 3) throw new Error('refused');
  };
  await untilReady('it', ping, { totalMs: 10_000 });
  expect(asked).toBe(3);
});

it('gives up at once when there is nothing left to wait for', async () => {
  const refuse = () => Promise.reject(new Error('refused'));
  const ended = Promise.reject(new Error('the server ended'));
  await expect(untilReady('it', refuse, { failed: ended, totalMs: 10_000 })).rejects.toThrow('the server ended');
});

it('gives up when there is no progress', async () => {
  const refuse = () => Promise.reject(new Error('refused'));
  await expect(untilReady('it', refuse, { stalledMs: 20 })).rejects.toThrow('it made no progress for 0.02 s: refused');
});

it('waits as long as there is progress, and tells what for', async () => {
  let asked = 0;
  const reasons = new Set<string>();
  const ping = async () => {
    asked += 1;
    if (asked < 8) throw new Error(asked < 4 ? 'refused' : 'no database');
  };
  const progress = async () => String(asked);
  await untilReady('it', ping, { stalledMs: 0, totalMs: 600_000, progress, onWait: (reason) => reasons.add(reason) });
  expect([...reasons]).toEqual(['refused', 'no database']);
});

it('gives up after its time in all, whatever the progress', async () => {
  let asked = 0;
  const refuse = () => Promise.reject(new Error(`refused ${++asked}`));
  await expect(untilReady('it', refuse, { totalMs: 30 })).rejects.toThrow(
    /^it was not ready within 0\.03 s: refused \d/,
  );
});

it('takes CPU time as progress of a process, and silence as none', async () => {
  let isReady = false;
  const ping = async () => {
    if (!isReady) throw new Error('refused');
  };
  const plan = (script: string): ProcessPlan => ({
    name: 'it',
    command: process.execPath,
    parameters: ['-e', script],
    env: {},
    cwd: '/',
    ping,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 10_000,
    startLimits: { stalledMs: roomMs(2_000) },
  });
  await using silent = new ManagedProcess(plan('setInterval(() => undefined, 1e6)'));
  await expect(silent.restart()).rejects.toThrow('it made no progress');
  await using busy = new ManagedProcess(plan('for (;;) process.hrtime()'));
  const started = busy.restart();
  const { pid } = busy;
  await expect.poll(() => cpuSecondsOf(busy.pid ?? pid), { timeout: roomMs(60_000) }).toBeGreaterThan(3);
  isReady = true;
  await started;
});
