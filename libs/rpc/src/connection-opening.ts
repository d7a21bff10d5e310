import type { Socket } from 'node:net';
import { type Owner, readOpening } from './multiplex/http2/opening.ts';

/**
 * Reads the first bytes of a connection until they say whose it is. Whoever says too little within a second counts as a
 * client of gRPC, which asks such clients whether they are there. Nothing is told of a connection that is gone by then.
 */
export class ConnectionOpening {
  readonly #socket: Socket;
  readonly #onDecided: (owner: Owner, opening: Buffer) => void;
  readonly #timer: NodeJS.Timeout;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(socket: Socket, onDecided: (owner: Owner, opening: Buffer) => void) {
    this.#socket = socket;
    this.#onDecided = onDecided;
    this.#timer = setTimeout(() => this.#decide('gRPC'), longestOpeningMs).unref();
    socket.on('data', this.#onData);
    socket.on('close', this.#onClose);
    // The close that follows an error is told.
    socket.on('error', () => undefined);
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    const owner = readOpening(this.#bytes);
    if (owner !== undefined) this.#decide(owner);
  };

  readonly #onClose = (): void => clearTimeout(this.#timer);

  #decide(owner: Owner): void {
    clearTimeout(this.#timer);
    this.#socket.off('data', this.#onData).off('close', this.#onClose);
    this.#onDecided(owner, this.#bytes);
  }
}

const longestOpeningMs = 1_000;
