import { EventEmitter, once } from 'node:events';
import type { Request, Response } from 'express';
import { credentialOf } from './refusals.ts';
import type { Fault, Script } from './script.ts';

export interface Received {
  readonly path: string;
  /** The gateway's key or bearer token, which identifies the account. */
  readonly credential: string;
  /** Whether its connection had served another request. */
  readonly isOnReusedConnection: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Settles when the answer is over. `hung-up`: the gateway left before its end. */
  readonly outcome: Promise<'sent' | 'hung-up'>;
}

/** The requests of one script. */
export class Scripted implements Disposable {
  /** Unique text such as `[conformance 7f3a91]`. */
  readonly marker: string;
  readonly #script: Script;
  readonly #received: Received[] = [];
  #faulted = 0;
  readonly #arrivals = new EventEmitter();
  readonly #forget: () => void;

  constructor(marker: string, script: Script, forget: () => void) {
    this.marker = marker;
    this.#script = script;
    this.#forget = forget;
  }

  /** The requests with the marker, as the provider received them. */
  get received(): readonly Received[] {
    return this.#received;
  }

  /** Resolves when this many requests have come; rejects with the signal. */
  async came(requests: number, signal: AbortSignal): Promise<void> {
    while (this.#received.length < requests) await once(this.#arrivals, 'request', { signal });
  }

  /** The answer to a request. */
  receive(request: Request, response: Response): { readonly script: Script; readonly fault: Fault | undefined } {
    const outcome = Promise.withResolvers<'sent' | 'hung-up'>();
    // An answer that the double itself cuts off is over, too.
    response.on('close', () => {
      outcome.resolve(response.writableFinished || response.locals.isCut === true ? 'sent' : 'hung-up');
    });
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
    );
    const isOnReusedConnection = response.locals.isOnReusedConnection === true;
    this.#received.push({
      path: request.path,
      credential: credentialOf(request),
      isOnReusedConnection,
      headers,
      body: request.body,
      outcome: outcome.promise,
    });
    this.#arrivals.emit('request');
    const { fault, faultForFirst = Number.POSITIVE_INFINITY } = this.#script;
    const wanted = fault?.kind === 'cut-before-answer' ? fault.connection : undefined;
    const mayMeetIt = wanted === undefined || (wanted === 'reused') === isOnReusedConnection;
    if (!mayMeetIt || this.#faulted >= faultForFirst) return { script: this.#script, fault: undefined };
    this.#faulted += 1;
    return { script: this.#script, fault };
  }

  [Symbol.dispose](): void {
    this.#forget();
  }
}
