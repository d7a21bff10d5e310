import { EventEmitter, on } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

/** The head of an answer. */
export interface Head {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * An answer as it arrives. All received bytes stay readable after the connection is closed, unlike
 * in a stream of Node's.
 */
export class ArrivingAnswer implements Dispatcher.DispatchHandler {
  readonly #head = Promise.withResolvers<Head>();
  // It keeps unread bytes, and returns them before a failure.
  readonly #body = new EventEmitter();
  readonly #pieces = on(this.#body, 'piece', { close: ['end'] });
  #controller: Dispatcher.DispatchController | undefined;
  #leaving: Error | undefined;
  #isOver = false;

  /** Rejects if there is no answer. */
  get head(): Promise<Head> {
    return this.#head.promise;
  }

  /** @throws Error if the connection was closed before the end. */
  async *pieces(): AsyncIterable<Uint8Array> {
    for await (const [piece] of this.#pieces) yield piece;
  }

  hangUp(reason = new Error('the client disconnected')): void {
    this.#leaving ??= reason;
    if (!this.#isOver) this.#controller?.abort(this.#leaving);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#leaving) controller.abort(this.#leaving);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    const read = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat().join(', ')]);
    this.#head.resolve({ status, headers: Object.fromEntries(read) });
  }

  onResponseData(_: Dispatcher.DispatchController, piece: Uint8Array): void {
    // The buffer is used again.
    this.#body.emit('piece', Uint8Array.from(piece));
  }

  onResponseEnd(): void {
    this.#isOver = true;
    this.#body.emit('end');
  }

  onResponseError(_: unknown, failure: Error): void {
    this.#isOver = true;
    this.#head.reject(failure);
    // Without a reader, a failure needs no handler.
    if (this.#body.listenerCount('error') > 0) this.#body.emit('error', failure);
  }
}
