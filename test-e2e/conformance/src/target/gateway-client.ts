import { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { Violation } from '../verdict.ts';
import { ArrivingAnswer } from './arriving-answer.ts';
import { type Endpoint, isMessages, paths, type Target } from './endpoints.ts';
import { Evidence, type Exchange } from './evidence.ts';
import { parsedJson, StreamedAnswer } from './streamed-answer.ts';

/** One request to the gateway. By default it is a POST of JSON with the token as a bearer. */
export interface Ask {
  readonly method?: string;
  /** Replaces the endpoint's own path. */
  readonly path?: string;
  /** Added to the default headers; `undefined` removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /**
   * A value is sent as JSON, bytes and text unchanged, an iterable in pieces with chunked encoding.
   */
  readonly body?: unknown;
  /** The token to use. `none` sends no credentials. */
  readonly as?: 'token' | 'limited-token' | 'none';
  /** Hangs up at any point of the exchange. The call rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** An answer that was read to its end. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** @throws Violation if the text is not JSON. */
  json(): unknown;
}

/**
 * Speaks to a gateway over its own connections, and records every exchange. Disposal closes the
 * connections, whatever is still in progress.
 */
export class GatewayClient implements AsyncDisposable {
  readonly #target: Target;
  readonly #signal: AbortSignal;
  readonly #evidence: Evidence;
  // Only the signal limits the waiting time.
  readonly #agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

  /** @param signal ends every exchange. */
  constructor(target: Target, signal: AbortSignal) {
    this.#target = target;
    this.#signal = signal;
    this.#evidence = new Evidence(target);
  }

  /** In order. */
  get exchanges(): readonly Exchange[] {
    return this.#evidence.exchanges;
  }

  async ask(endpoint: Endpoint, ask: Ask = {}): Promise<Answer> {
    const answer = await this.#send(endpoint, ask);
    const { status, headers } = answer;
    const { text, end } = await answer.read();
    if (end === 'cut') throw new Violation(`the connection closed during an answer with status ${status}`);
    return { status, headers, text, json: () => parsedJson(text, 'the answer') };
  }

  async stream(endpoint: Endpoint, ask: Ask = {}): Promise<StreamedAnswer> {
    const answer = await this.#send(endpoint, ask);
    // The reason of a refused stream belongs to the evidence.
    if (answer.status >= 300) await answer.read();
    return answer;
  }

  async #send(endpoint: Endpoint, ask: Ask): Promise<StreamedAnswer> {
    const { origin, pathname } = new URL(this.#target.url);
    const path = `${pathname.replace(/\/$/, '')}${ask.path ?? paths[endpoint]}`;
    const method = ask.method ?? (endpoint === 'models' || endpoint === 'usage' ? 'GET' : 'POST');
    const headers = this.#headersOf(endpoint, ask);
    const body = bodyOf(ask.body);
    const recorder = this.#evidence.record(`${method} ${path}`, headers, body);
    const signal = ask.signal === undefined ? this.#signal : AbortSignal.any([this.#signal, ask.signal]);
    signal.throwIfAborted();
    const arriving = new ArrivingAnswer();
    signal.addEventListener('abort', () => arriving.hangUp(signal.reason), { once: true });
    this.#agent.dispatch(
      { origin, path, method: method as Dispatcher.HttpMethod, headers, body: body ?? null },
      arriving,
    );
    try {
      return new StreamedAnswer(await arriving.head, arriving, recorder, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      throw new Violation(`no answer to ${method} ${path}: ${reasonOf(thrown)}`);
    }
  }

  #headersOf(endpoint: Endpoint, { as = 'token', headers = {}, body }: Ask): Record<string, string> {
    const token = { token: this.#target.token, 'limited-token': this.#target.limitedToken, none: undefined }[as];
    const all = {
      'content-type': body === undefined ? undefined : 'application/json',
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      // Some releases of the official SDKs send this header, others the one above.
      'x-api-key': isMessages(endpoint) ? token : undefined,
      'anthropic-version': isMessages(endpoint) ? '2023-06-01' : undefined,
      ...inLowerCase(this.#target.headers ?? {}),
      ...inLowerCase(headers),
    };
    return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }
}

/** A list is JSON like other values. Other iterables are sent in pieces. */
function bodyOf(body: unknown): string | Uint8Array | Readable | undefined {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) return body;
  if (isIterable(body) && !Array.isArray(body)) return Readable.from(body, { objectMode: false });
  return JSON.stringify(body);
}

function isIterable(value: unknown): value is Iterable<unknown> | AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
}

function inLowerCase(headers: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return 'code' in thrown ? `${thrown.message} (${String(thrown.code)})` : thrown.message;
}
