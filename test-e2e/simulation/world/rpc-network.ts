import type { DescService } from '@bufbuild/protobuf';
import type { Client, ServiceRoute } from '@gateway/rpc';
import {
  type BatchStream,
  ClientSession,
  clientOf,
  Replicas,
  ServerSession,
  servedMethods,
} from '@gateway/rpc/multiplex';
import type { LinkEnd } from './link.ts';
import type { Network } from './network.ts';
import { activeWorld } from './platform.ts';
import { WorldTimer } from './world-timer.ts';

/** The port of the RPCs of every process. */
export const rpcPort = 50_051;

/**
 * Serves routes to other processes, as the product's gRPC server does. Only gRPC itself is missing:
 * the frames of the shared stream travel as messages of the simulated network.
 */
export function serveRpc(network: Network, port: number, routes: readonly ServiceRoute[]) {
  const methods = servedMethods(routes);
  const sessions = new Map<ServerSession, Promise<void>>();
  let isStopping = false;
  const listener = network.listen(port, (end) => {
    const stream = new FrameStream(end);
    const session = new ServerSession(stream, { methods });
    const ended = session.serve(stream).catch(() => stream.cancel());
    sessions.set(session, ended);
    void ended.finally(() => sessions.delete(session));
    if (isStopping) session.goAway();
  });
  return {
    /** Takes no new calls and lets running ones finish. */
    async stop(): Promise<void> {
      isStopping = true;
      listener.close();
      for (const session of sessions.keys()) session.goAway();
      await Promise.all(sessions.values());
    },
  };
}

/** Clients of a service with several replicas. They reconnect while their process runs. */
export class RpcChannel implements Disposable {
  readonly #replicas: Replicas;

  constructor(network: Network, name: string, addresses: readonly string[]) {
    this.#replicas = new Replicas({
      name,
      resolve: async () => addresses,
      connect: async (address) => {
        const stream = new FrameStream(network.connect(address));
        await stream.opened;
        return new ClientSession(stream);
      },
      resolveIntervalMs: 5_000,
      firstBackoffMs: 25,
    });
  }

  client<S extends DescService>(service: S): Client<S> {
    return clientOf(service, this.#replicas);
  }

  [Symbol.dispose](): void {
    this.#replicas[Symbol.dispose]();
  }
}

type Batch = Parameters<BatchStream['write']>[0];

/** As in the product's settings of gRPC: finds a paused or vanished peer. */
const pingEveryMs = 10_000;
const pongWithinMs = 5_000;

/** A stream of batches on a connection, from either side. */
class FrameStream implements BatchStream {
  readonly opened: Promise<void>;
  readonly #end: LinkEnd;
  readonly #received: (Batch | 'end')[] = [];
  readonly #pings: WorldTimer;
  #arrival = Promise.withResolvers<void>();
  #lost: Error | undefined;
  #deadline: WorldTimer | undefined;

  constructor(end: LinkEnd) {
    this.#end = end;
    const opened = Promise.withResolvers<void>();
    this.opened = opened.promise;
    opened.promise.catch(() => undefined);
    this.#pings = new WorldTimer(activeWorld, () => this.#ping(), { delayMs: pingEveryMs, repeats: true });
    end.listen({
      onOpen: () => opened.resolve(),
      onMessage: (message) => this.#onMessage(message as Batch | 'ping' | 'pong'),
      onEnd: () => this.#put('end'),
      onLost: (code) => {
        opened.reject(new Error(code));
        this.#lose(new Error(code));
      },
    });
  }

  write(batch: Batch): boolean {
    return this.#end.send(batch, sizeOf(batch));
  }

  once(_event: 'drain', act: () => void): void {
    this.#end.whenRead(act);
  }

  end(): void {
    this.#end.end();
    this.#pings.close();
  }

  cancel(): void {
    this.#end.reset();
    this.#lose(new Error('The stream was cancelled.'));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<{ frames: Batch['frames'][number][] }, undefined> {
    for (;;) {
      const next = this.#received.shift();
      if (next === 'end') return undefined;
      if (next !== undefined) yield { frames: [...next.frames] };
      else if (this.#lost !== undefined) throw this.#lost;
      else await this.#arrival.promise;
    }
  }

  #onMessage(message: Batch | 'ping' | 'pong'): void {
    this.#deadline?.close();
    if (message === 'ping') this.#end.send('pong', 0);
    else if (message !== 'pong') this.#put(message);
  }

  #ping(): void {
    this.#end.send('ping', 0);
    this.#deadline = new WorldTimer(activeWorld, () => this.cancel(), { delayMs: pongWithinMs });
  }

  #put(item: Batch | 'end'): void {
    this.#received.push(item);
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }

  #lose(error: Error): void {
    this.#lost ??= error;
    this.#pings.close();
    this.#deadline?.close();
    this.#arrival.resolve();
  }
}

function sizeOf({ frames }: Batch): number {
  return frames.reduce((sum, { content }) => {
    if (content.case === 'message') return sum + 32 + content.value.length;
    return sum + 32 + (content.case === 'start' ? (content.value.request?.length ?? 0) : 0);
  }, 0);
}
