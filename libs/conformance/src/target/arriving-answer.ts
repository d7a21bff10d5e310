import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

/** The head of an answer. */
export interface Head {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * An answer as it arrives. Nothing that came is lost when the connection is closed afterwards, as it would be in a stream of
 * Node's.
 */
export class ArrivingAnswer implements Dispatcher.DispatchHandler {
  readonly #head = Promise.withResolvers<Head>();
  #controller: Dispatcher.DispatchController | undefined;
  #leaving: Error | undefined;
  #pieces: Uint8Array[] = [];
  #end: { readonly failure: Error | undefined } | undefined;
  #arrival = Promise.withResolvers<void>();

  /** Rejects when there is no answer. */
  get head(): Promise<Head> {
    return this.#head.promise;
  }

  /** @throws Error when the connection was closed before the end. */
  async *pieces(): AsyncIterable<Uint8Array> {
    for (;;) {
      const pieces = this.#pieces;
      this.#pieces = [];
      yield* pieces;
      if (this.#pieces.length > 0) continue;
      if (this.#end?.failure) throw this.#end.failure;
      if (this.#end) return;
      await this.#arrival.promise;
    }
  }

  hangUp(reason = new Error('the client has hung up')): void {
    this.#leaving ??= reason;
    if (this.#end === undefined) this.#controller?.abort(this.#leaving);
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
    this.#pieces.push(Uint8Array.from(piece));
    this.#arrived();
  }

  onResponseEnd(): void {
    this.#end ??= { failure: undefined };
    this.#arrived();
  }

  onResponseError(_: unknown, failure: Error): void {
    this.#end ??= { failure };
    this.#head.reject(failure);
    this.#arrived();
  }

  #arrived(): void {
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }
}
