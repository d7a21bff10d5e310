import { converse } from './converse.ts';
import type { ServerProgram } from './server-program.ts';
import { startServer } from './start-server.ts';
import type { TestServer } from './test-server.ts';

export interface NatsOptions {
  /** A port of 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined;
}

/** Starts a NATS server with JetStream of the caller's own. */
export function startNats(options: NatsOptions = {}): Promise<TestServer> {
  return startServer(natsProgram(), options.port);
}

export function natsProgram(): ServerProgram {
  return {
    kind: 'nats',
    stopSignal: 'SIGTERM',
    uid: undefined,
    image: { name: 'nats:2', port: 4222, command: ['-js', '-sd', '/data'], environment: {} },
    parameters: (port, dataDir) => ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', dataDir],
    url: (host, port) => `nats://${host}:${port}`,
    ping: (host, port) => converse(host, port, 'PING\r\n', 'PONG'),
  };
}
