import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Ports below those that systems hand out to outgoing connections. A client that keeps trying a port of that range
 * while its server is down can end up connected to itself.
 */
const portRange = { from: 12_000, to: 32_000 };

/** A TCP port of 127.0.0.1 that was just now free. Another process may still take it: be ready to ask again. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(portRange.from, portRange.to);
    if (await canListenOn(port)) return port;
  }
  throw new Error(`No free port of 127.0.0.1 found between ${portRange.from} and ${portRange.to}.`);
}

/** Several free ports, all different. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

function canListenOn(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
