import { converse } from './converse.ts';
import type { ServerProgram } from './server-program.ts';
import { startServer } from './start-server.ts';
import type { TestServer } from './test-server.ts';

export interface RedisOptions {
  /** A port of 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined;
  /** Whether what it holds survives a restart. Default: false. */
  readonly persistent?: boolean | undefined;
  /** Whether it is a node of a cluster, which has no slots yet. Default: false. */
  readonly cluster?: boolean | undefined;
}

/** Starts a Redis of the caller's own. */
export function startRedis(options: RedisOptions = {}): Promise<TestServer> {
  return startServer(redisProgram(options), options.port);
}

export function redisProgram({ persistent = false, cluster = false }: RedisOptions = {}): ServerProgram {
  const settings = ['--save', '', '--appendonly', persistent ? 'yes' : 'no', '--protected-mode', 'no'];
  return {
    kind: 'redis',
    stopSignal: 'SIGTERM',
    uid: undefined,
    image: { name: 'redis:8', port: 6379, command: ['redis-server', ...settings], environment: {} },
    parameters: (port, dataDir) => [
      ...['--bind', '127.0.0.1', '--port', String(port), '--dir', dataDir, ...settings],
      ...(cluster ? clusterSettings(port) : []),
    ],
    url: (host, port) => `redis://${host}:${port}`,
    ping: (host, port) => converse(host, port, 'PING\r\n', '+PONG'),
  };
}

/** Nodes talk to each other on a port of their own, which would be beyond the last one for many a free port. */
function clusterSettings(port: number): readonly string[] {
  const busPort = port > 45_000 ? port - 10_000 : port + 10_000;
  return ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--cluster-port', String(busPort)];
}
