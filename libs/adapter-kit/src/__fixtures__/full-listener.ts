import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** A local server that neither completes nor refuses a connection. */
export interface FullListener extends AsyncDisposable {
  readonly origin: string;
}

/**
 * Listens in a thread that then sleeps, so that nothing is accepted, and fills the queue of pending
 * connections. After that Linux drops every further attempt and its repeats.
 */
export async function startFullListener(): Promise<FullListener> {
  const thread = new Worker(new URL('./listening-thread.ts', import.meta.url), { workerData: { backlog } });
  const [port]: unknown[] = await once(thread, 'message');
  if (typeof port !== 'number') throw new Error('The thread does not listen.');
  const waiting: Socket[] = [];
  // The kernel queues one more connection than the backlog.
  while (waiting.length <= backlog) waiting.push(await connected(port));
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of waiting) socket.destroy();
      await thread.terminate();
    },
  };
}

const backlog = 1;

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket.on('error', () => undefined);
}
