import { expect, it } from 'vitest';
import { untilReady } from './managed-process.ts';

it('asks until there is an answer', async () => {
  let asked = 0;
  const ping = async () => {
    asked += 1;
    if (asked < 3) throw new Error('refused');
  };
  await untilReady('it', ping, { timeoutMs: 10_000 });
  expect(asked).toBe(3);
});

it('gives up at once when there is nothing left to wait for', async () => {
  const refuse = () => Promise.reject(new Error('refused'));
  const ended = Promise.reject(new Error('the server ended'));
  await expect(untilReady('it', refuse, { failed: ended, timeoutMs: 10_000 })).rejects.toThrow('the server ended');
});

it('gives up after its time', async () => {
  const refuse = () => Promise.reject(new Error('refused'));
  await expect(untilReady('it', refuse, { timeoutMs: 20 })).rejects.toThrow('it was not ready within 0.02 s: refused');
});
