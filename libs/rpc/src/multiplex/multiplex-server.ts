import type { OpenRequest, OpenResponse } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { type OnFault, toCallFailure } from '../errors.ts';
import { handlerOf, pathOf } from '../methods.ts';
import type { ServiceRoute } from '../service-types.ts';
import { type ServedMethod, ServerSession } from './server-session.ts';

export interface MultiplexServerOptions {
  readonly routes: readonly ServiceRoute[];
  readonly onFault?: OnFault | undefined;
}

/** The streams of calls that other processes of the gateway have opened to this one. */
export class MultiplexServer {
  readonly #methods: ReadonlyMap<string, ServedMethod>;
  readonly #onFault: OnFault | undefined;
  readonly #sessions = new Set<ServerSession>();

  constructor({ routes, onFault }: MultiplexServerOptions) {
    this.#methods = servedMethods(routes);
    this.#onFault = onFault;
  }

  /** The handler of MultiplexService.Open. */
  async serve(stream: ServerDuplexStream<OpenRequest, OpenResponse>): Promise<void> {
    const session = new ServerSession(stream, { methods: this.#methods, onFault: this.#onFault });
    this.#sessions.add(session);
    // The client waits for it: from now on calls can be made.
    stream.sendMetadata(new Metadata());
    try {
      await session.serve(stream.iterator({ destroyOnReturn: false }));
    } catch (thrown) {
      // Without effect where the stream is lost. The calls on it have been cancelled.
      const { status, message } = toCallFailure(thrown);
      if (!stream.cancelled) stream.emit('error', { code: status, details: message });
    } finally {
      this.#sessions.delete(session);
    }
  }

  /** Asks all clients to make their next calls elsewhere, and to end their streams with the calls that run. */
  goAway(): void {
    for (const session of this.#sessions) session.goAway();
  }
}

/** The methods of routes, by their paths. */
export function servedMethods(routes: readonly ServiceRoute[]): ReadonlyMap<string, ServedMethod> {
  const methods = routes.flatMap(({ service, handlers }) =>
    service.methods.map((method) => ({ method, handler: handlerOf(method, handlers) })),
  );
  return new Map(methods.map((served) => [pathOf(served.method), served]));
}
