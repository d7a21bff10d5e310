import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * Ports below the range that systems use for outgoing connections: a client that keeps trying a
 * port in that range while its server is down can connect to itself. Nodes of a Redis Cluster also
 * listen 10,000 higher, on ports that are given to no one else.
 */
const portRange = { from: 12_000, to: 22_000 };

/**
 * A TCP port of 127.0.0.1 that is free now. No other caller gets it while this process lives, even
 * while nothing listens on it yet, or between two starts of a server. A program that does not use
 * this function may still take it.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(portRange.from, portRange.to);
    const release = await claim(port);
    if (release === undefined) continue;
    if (await canListenOn(port)) return port;
    release();
  }
  throw new Error(`No free port of 127.0.0.1 found between ${portRange.from} and ${portRange.to}.`);
}

/** Several different free ports. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

/**
 * Binds the UDP port of the same number, which no server of ours uses: the system gives it to one
 * process, and releases it when that process ends.
 */
function claim(port: number): Promise<(() => void) | undefined> {
  const socket = createSocket('udp4');
  return new Promise((resolve) => {
    socket.once('error', () => {
      socket.close();
      resolve(undefined);
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(() => socket.close()));
    socket.unref();
  });
}

function canListenOn(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
