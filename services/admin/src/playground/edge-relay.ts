import { timeoutSignal } from '@gateway/time';
import { Agent, request } from 'undici';

/** A request to the public API. */
export interface RelayedRequest {
  readonly method: 'GET' | 'POST';
  readonly path: RelayedPath;
  readonly tokenText: string;
  /** JSON; undefined for GET. */
  readonly body: string | undefined;
}

/** The only paths that are ever requested. */
export type RelayedPath = '/v1/models' | '/v1/chat/completions' | '/v1/messages' | '/v1/responses';

export interface RelayedAnswer {
  readonly status: number;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** Throws if the answer breaks off, or is too long. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Sends single requests of the playground to the edge, as a client would. The address is a setting
 * and the paths are fixed, so that no caller chooses where a request goes. The edge gets the token
 * and the body, and nothing else of the call: no cookie, no header of the browser.
 */
export class EdgeRelay {
  readonly #edgeUrl: string | undefined;
  /** Without the proxy of the environment: the edge is a service of this gateway. */
  readonly #connections: Agent;

  /** @param edgeUrl undefined: this process does not know the edge. */
  constructor(edgeUrl: string | undefined) {
    this.#edgeUrl = edgeUrl;
    this.#connections = new Agent({
      // Each request has a connection of its own: they are rare.
      pipelining: 0,
      maxResponseSize: mostAnswerBytes,
      // The deadline of the whole answer decides: a model may think for minutes.
      headersTimeout: mostMs,
      bodyTimeout: mostMs,
    });
  }

  get knowsEdge(): boolean {
    return this.#edgeUrl !== undefined;
  }

  /**
   * The edge is read only as fast as `body` is. Aborting the signal ends the request, so that the
   * edge cancels it at the provider.
   */
  async send({ method, path, tokenText, body }: RelayedRequest, signal: AbortSignal): Promise<RelayedAnswer> {
    const answer = await request(`${this.#edgeUrl}${path}`, {
      dispatcher: this.#connections,
      method,
      headers: {
        authorization: `Bearer ${tokenText}`,
        'user-agent': 'model-gateway-playground',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body ?? null,
      signal: AbortSignal.any([signal, timeoutSignal(mostMs)]),
    });
    const headers = Object.entries(answer.headers).flatMap(([name, value = '']) =>
      ofConnection.has(name) ? [] : [{ name, value: [value].flat().join(', ') }],
    );
    return { status: answer.statusCode, headers, body: answer.body };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections.destroy();
  }
}

/** Longer answers can't be read in a page. */
const mostAnswerBytes = 16 * 1024 * 1024;
/** How long an answer may take. */
export const mostMs = 600_000;

const ofConnection = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date']);
