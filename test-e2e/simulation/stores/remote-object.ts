import type { LinkEnd } from '../world/link.ts';
import type { Network } from '../world/network.ts';
import { activeWorld } from '../world/platform.ts';
import { WorldTimer } from '../world/world-timer.ts';

interface Question {
  readonly id: number;
  readonly method: string;
  readonly given: readonly unknown[];
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly fault?: unknown;
}

/** The size of a message that needs no size of its own. */
const messageBytes = 200;

/** Serves the methods of an object to other processes, at a port of the current process. */
export function serveObject(network: Network, port: number, objectOf: () => object): void {
  network.listen(port, (end) => {
    end.listen({
      onMessage(message) {
        const { id, method, given } = message as Question;
        const send = (reply: Reply) => end.send(reply, messageBytes);
        const answer: unknown = Reflect.get(objectOf(), method);
        // A method that the object lacks is optional.
        const call = async () => (typeof answer === 'function' ? Reflect.apply(answer, objectOf(), given) : undefined);
        call().then(
          (value: unknown) => send({ id, value }),
          (fault: unknown) => send({ id, fault }),
        );
      },
      onEnd: () => end.end(),
      onLost: () => undefined,
    });
  });
}

export interface RemoteOptions {
  readonly timeoutMs: number;
  /** Called when the connection was lost and is made again. */
  readonly onReconnected?: () => void;
}

/**
 * The methods of an object in another process. A call fails when its answer is late, or when the
 * connection is lost: it may have been carried out nevertheless.
 */
export function remoteObject<T extends object>(network: Network, address: string, options: RemoteOptions): T {
  const connection = new ObjectConnection(network, address, options);
  return new Proxy({} as T, {
    get: (_target, method) => {
      if (typeof method === 'symbol' || method === 'then') return async () => undefined;
      return (...given: unknown[]) => connection.ask(method, given);
    },
    has: () => true,
  });
}

const reconnectAfterMs = 50;

class ObjectConnection {
  readonly #network: Network;
  readonly #address: string;
  readonly #options: RemoteOptions;
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>();
  #end: LinkEnd | undefined;
  #lastId = 0;
  #connections = 0;

  constructor(network: Network, address: string, options: RemoteOptions) {
    this.#network = network;
    this.#address = address;
    this.#options = options;
    this.#connect();
  }

  async ask(method: string, given: readonly unknown[]): Promise<unknown> {
    const id = ++this.#lastId;
    const asked = Promise.withResolvers<unknown>();
    this.#asked.set(id, asked);
    const late = () => asked.reject(new Error(`${this.#address} did not answer ${method} in time`));
    using _timer = new WorldTimer(activeWorld, late, { delayMs: this.#options.timeoutMs });
    if (this.#end === undefined) asked.reject(new Error(`${this.#address} is not connected`));
    else this.#end.send({ id, method, given } satisfies Question, messageBytes);
    try {
      return await asked.promise;
    } finally {
      this.#asked.delete(id);
    }
  }

  #connect(): void {
    const end = this.#network.connect(this.#address);
    this.#end = end;
    end.listen({
      onOpen: () => {
        this.#connections += 1;
        if (this.#connections > 1) this.#options.onReconnected?.();
      },
      onMessage: (message) => {
        const { id, value, fault } = message as Reply;
        if (fault === undefined) this.#asked.get(id)?.resolve(value);
        else this.#asked.get(id)?.reject(fault);
      },
      onEnd: () => this.#onLost(),
      onLost: () => this.#onLost(),
    });
  }

  #onLost(): void {
    this.#end = undefined;
    for (const { reject } of this.#asked.values()) reject(new Error(`the connection to ${this.#address} is lost`));
    new WorldTimer(activeWorld, () => this.#connect(), { delayMs: reconnectAfterMs });
  }
}
