import { Client, credentials, Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import type { ServiceRoute } from '../../../service-types.ts';
import type { BatchListener, BatchTransport } from '../../batch-transport.ts';
import { framesOf } from '../../frame-batch.ts';
import { openPath } from '../../grpc-streams.ts';
import { type MultiplexedStreams, serveMultiplexed } from '../../serve-multiplexed.ts';

/** A stream of calls as grpc-js opens it. */
export function openGrpcJsStream<L extends BatchListener>(
  address: string,
  listen: (transport: BatchTransport) => L,
): L {
  const client = new Client(address, credentials.createInsecure());
  const pass = (message: Buffer) => message;
  const call = client.makeBidiStreamRequest(openPath, pass, pass, new Metadata());
  const listener = listen({
    send: ({ bytes, start }, sent) => call.write(bytes.subarray(start), sent),
    end: () => call.end(),
    destroy: () => call.cancel(),
  });
  call.on('data', (message: Buffer) => listener.onBatch(framesOf(message) ?? Buffer.of(0)));
  call.on('end', () => listener.onEnd());
  call.on('error', (cause: unknown) => listener.onBroken(cause));
  call.on('status', () => client.close());
  return listener;
}

/** A server whose port belongs to grpc-js alone. */
export class GrpcJsServer {
  readonly address: string;
  readonly #server: Server;
  readonly #streams: MultiplexedStreams;

  static async listen(routes: readonly ServiceRoute[]): Promise<GrpcJsServer> {
    const server = new Server();
    const streams = serveMultiplexed(server, { routes });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    return new GrpcJsServer(`127.0.0.1:${port}`, server, streams);
  }

  private constructor(address: string, server: Server, streams: MultiplexedStreams) {
    this.address = address;
    this.#server = server;
    this.#streams = streams;
  }

  async stop(graceMs: number): Promise<void> {
    this.#streams.goAway();
    const force = setTimeout(() => this.#server.forceShutdown(), graceMs);
    await new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    clearTimeout(force);
  }
}
