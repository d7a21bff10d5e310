import { EventEmitter, once } from 'node:events';
import type { Request, Response } from 'express';
import type { Received, Scripted } from './provider-double.ts';
import { credentialOf } from './refusals.ts';
import type { Fault, Script } from './script.ts';

/** The requests of one script. */
export class ScriptedRequests implements Scripted {
  readonly marker: string;
  readonly #script: Script;
  readonly #received: Received[] = [];
  readonly #arrivals = new EventEmitter();
  readonly #forget: () => void;

  constructor(marker: string, script: Script, forget: () => void) {
    this.marker = marker;
    this.#script = script;
    this.#forget = forget;
  }

  get received(): readonly Received[] {
    return this.#received;
  }

  async came(requests: number, signal: AbortSignal): Promise<void> {
    while (this.#received.length < requests) await once(this.#arrivals, 'request', { signal });
  }

  /** What to answer. */
  receive(request: Request, response: Response): { readonly script: Script; readonly fault: Fault | undefined } {
    const outcome = Promise.withResolvers<'sent' | 'hung-up'>();
    // What the double cuts off itself is over, too.
    response.on('close', () => {
      outcome.resolve(response.writableFinished || response.locals.isCut === true ? 'sent' : 'hung-up');
    });
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
    );
    this.#received.push({
      path: request.path,
      credential: credentialOf(request),
      headers,
      body: request.body,
      outcome: outcome.promise,
    });
    this.#arrivals.emit('request');
    const { fault, faultForFirst = Number.POSITIVE_INFINITY } = this.#script;
    return { script: this.#script, fault: this.#received.length <= faultForFirst ? fault : undefined };
  }

  [Symbol.dispose](): void {
    this.#forget();
  }
}
