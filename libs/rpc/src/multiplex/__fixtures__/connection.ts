import { expect } from 'vitest';
import type { Client, ServiceRoute } from '../../service-types.ts';
import type { Dispatcher } from '../client-call.ts';
import { ClientSession } from '../client-session.ts';
import type { MultiplexLimits } from '../limits.ts';
import { multiplexedClient } from '../multiplexed-client.ts';
import { servedMethods } from '../served-methods.ts';
import { ServerSession } from '../server-session.ts';
import { MemoryStream } from './memory-stream.ts';
import { PlayService } from './play-service.ts';

/** A client and a server on one stream, and what became of the stream. */
export class Connection {
  readonly stream = new MemoryStream({ delay: () => 0 });
  readonly session: ClientSession;
  readonly server: ServerSession;
  readonly client: Client<typeof PlayService>;
  readonly events: string[] = [];

  constructor(route: ServiceRoute, limits: MultiplexLimits) {
    const heartbeatMs = 10_000;
    this.session = new ClientSession(
      this.stream.client,
      { limits, heartbeatMs },
      {
        onReady: () => this.events.push('ready'),
        onDraining: () => this.events.push('draining'),
        onOver: ({ message }) => this.events.push(message),
      },
    );
    this.server = new ServerSession(this.stream.server, { limits, heartbeatMs, methods: servedMethods([route]) });
    this.stream.connect(this.session, this.server);
    const dispatcher: Dispatcher = { dispatch: (call) => this.session.start(call) };
    this.client = multiplexedClient(PlayService, dispatcher, limits);
  }

  static async open(route: ServiceRoute, limits: MultiplexLimits): Promise<Connection> {
    const connection = new Connection(route, limits);
    await expect.poll(() => connection.events).toEqual(['ready']);
    return connection;
  }
}
