import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { Call } from './call.ts';
import type { CallOptions } from './service-types.ts';

/**
 * Echoes every byte from another thread, so that it works while the thread of the test is blocked.
 */
const echo = `
  const { createServer } = require('node:net');
  const server = createServer((socket) => socket.pipe(socket));
  server.listen(0, '127.0.0.1', () => require('node:worker_threads').parentPort.postMessage(server.address().port));
`;

describe('the deadline of a call', () => {
  it('is kept by an answer that came while this process stood still', async () => {
    const worker = new Worker(echo, { eval: true });
    const [port] = await once(worker, 'message');
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    try {
      const call = callOf({ timeoutMs: 50 }, async function* () {
        yield String(await once(socket, 'data'));
      });
      const answer = call.next();
      socket.write('?');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
      expect(await answer).toEqual({ done: false, value: '?' });
      await call.return();
    } finally {
      socket.destroy();
      await worker.terminate();
    }
  });

  it('passes when there is no answer', async () => {
    const call = callOf({ timeoutMs: 5 }, async function* () {
      yield await new Promise(() => undefined);
    });
    await expect(call.next()).rejects.toMatchObject({ status: 'deadline_exceeded' });
  });
});

function callOf<T>(options: CallOptions, begin: () => AsyncIterable<T>): Call<T, T> {
  return new Call(options, { begin, toResponse: (response) => response });
}
