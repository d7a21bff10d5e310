import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * How the public port is listened on. Workers each listen on it, and the kernel spreads connections over them. Where a kernel
 * can't (macOS, Windows), Node's cluster module does it: the first process accepts, and hands connections on in turns.
 */
export function sharedPortOptions(): { readonly reusePort?: true } {
  return cluster.isWorker && process.platform === 'linux' ? { reusePort: true } : {};
}

/**
 * The port that workers are to listen on: this one, or a free one for 0. Another process that listens on it is noticed here,
 * since a port that is shared can be shared with anybody.
 *
 * @throws an error with code `EADDRINUSE`
 */
export async function portForWorkers(host: string, port: number): Promise<number> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : port;
}
