import type { Server } from '@grpc/grpc-js';
import type { OnFault } from '../faults.ts';
import type { ServiceRoute } from '../service-types.ts';
import { acceptStream, multiplexDefinition, type OpenHandler } from './grpc-streams.ts';
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
  /** Asks every client to open no more calls here and to leave when its running ones have ended. */
  goAway(): void;
}

/** Has a server take calls to the routes over streams too, beside plain gRPC on the same port. */
export function serveMultiplexed(server: Server, options: ServeMultiplexedOptions): MultiplexedStreams {
  const { routes, onFault, limits = defaultLimits, heartbeatMs = 5_000 } = options;
  const methods = servedMethods(routes);
  const sessions = new Set<ServerSession>();
  const open: OpenHandler = (call) =>
    acceptStream(call, (transport) => {
      const session = new ServerSession(transport, {
        methods,
        limits,
        heartbeatMs,
        onFault,
        onOver: () => sessions.delete(session),
      });
      sessions.add(session);
      return session;
    });
  server.addService(multiplexDefinition, { open });
  return {
    goAway: () => {
      for (const session of sessions) session.goAway();
    },
  };
}
