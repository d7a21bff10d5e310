import { createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/** Listens with the given backlog, reports the port, and sleeps until it is terminated. */
const server = createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: workerData.backlog }, () => {
  const address = server.address();
  parentPort?.postMessage(typeof address === 'object' ? address?.port : undefined);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
