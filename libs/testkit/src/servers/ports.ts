import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';

/**
 * Ports below those that systems hand out to outgoing connections. A client that keeps trying a port of that range
 * while its server is down can end up connected to itself.
 */
const portRange = { from: 12_000, to: 32_000 };

/** A TCP port of 127.0.0.1 that was free a moment ago. Another process may still take it: be ready to ask again. */
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

/** Sends a line to a server and resolves when the expected text comes back; throws when it doesn't within 5 s. */
export function sendAndExpect(host: string, port: number, line: string, expected: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host, port, timeout: 5_000 });
  let received = '';
  socket.setEncoding('utf8');
  socket.on('connect', () => socket.write(line));
  socket.on('data', (text) => {
    received += text;
    if (received.includes(expected)) resolve();
  });
  socket.on('timeout', () => reject(new Error(`${host}:${port} gave no answer within 5 s`)));
  socket.on('error', reject);
  socket.on('close', () => reject(new Error(`${host}:${port} closed the connection`)));
  return promise.finally(() => socket.destroy());
}
