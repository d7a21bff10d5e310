import type { Socket } from 'node:net';
import type { Server } from '@grpc/grpc-js';
import type { OnFault } from '../faults.ts';
import type { ServiceRoute } from '../service-types.ts';
import type { BatchTransport } from './batch-transport.ts';
import { acceptStream, multiplexDefinition, type OpenHandler } from './grpc-streams.ts';
import { type ServedStream, serveStream } from './http2/serve-stream.ts';
import { defaultLimits, type MultiplexLimits } from './limits.ts';
import { servedMethods } from './served-methods.ts';
import { ServerSession } from './server-session.ts';

export interface ServeMultiplexedOptions {
  readonly routes: readonly ServiceRoute[];
  readonly onFault?: OnFault | undefined;
  readonly limits?: MultiplexLimits;
  readonly heartbeatMs?: number;
}

/** The streams of calls that a server serves. */
export interface MultiplexedStreams {
  /** Serves a connection that carries a stream of calls and nothing else. */
  serve(socket: Socket, opening: Buffer): void;
  /** Asks every client to open no more calls here and to leave when its running ones have ended. */
  goAway(): void;
}

/** Has a server take calls to the routes over streams too, beside plain gRPC on the same port. */
export function serveMultiplexed(server: Server, options: ServeMultiplexedOptions): MultiplexedStreams {
  const { routes, onFault, limits = defaultLimits, heartbeatMs = 5_000 } = options;
  const methods = servedMethods(routes);
  const sessions = new Set<ServerSession>();
  const connections = new Set<ServedStream>();
  const listen = (transport: BatchTransport) => {
    const session = new ServerSession(transport, {
      methods,
      limits,
      heartbeatMs,
      onFault,
      onOver: () => sessions.delete(session),
    });
    sessions.add(session);
    return session;
  };
  const open: OpenHandler = (call) => acceptStream(call, listen);
  server.addService(multiplexDefinition, { open });
  return {
    serve: (socket, opening) => {
      const connection = serveStream(socket, opening, listen);
      connections.add(connection);
      socket.once('close', () => connections.delete(connection));
    },
    goAway: () => {
      for (const connection of connections) connection.endUnopened();
      for (const session of sessions) session.goAway();
    },
  };
}
