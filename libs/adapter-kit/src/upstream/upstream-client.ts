import type { AdapterConfig } from '../adapter-config.ts';
import type { AdapterMetrics } from '../adapter-metrics.ts';
import type { ProviderAccount } from '../credentials/credential-cache.ts';
import { Deadlines } from './deadlines.ts';
import { HttpClient } from './http/http-client.ts';
import type { RequestBody } from './http/http-exchange.ts';
import { isPieces } from './http/request-head.ts';
import { type ExchangeListener, UpstreamExchange } from './upstream-exchange.ts';

export interface UpstreamRequest {
  readonly account: ProviderAccount;
  readonly method: 'GET' | 'POST';
  /** Path under the account's base URL. */
  readonly path: string;
  /** All headers, the secret's too. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  /** How long the answer may take to begin. See `UpstreamExchange`. */
  readonly timeoutMs: number;
  readonly listener: ExchangeListener;
  /** Is told when the request leaves for the provider: never for one that finds no connection. */
  readonly onSent?: (() => void) | undefined;
  /** Aborting it ends the exchange at once, in any state. */
  readonly signal?: AbortSignal | undefined;
}

export type UpstreamLimits = Pick<AdapterConfig, 'connectTimeoutMs' | 'maxStreamMs'>;

/** The connections to providers. Disposing it closes them all. */
export class UpstreamClient implements Disposable {
  readonly #limits: UpstreamLimits;
  readonly #http: HttpClient;
  readonly #metrics: AdapterMetrics;
  readonly #deadlines = new Deadlines();

  constructor(limits: UpstreamLimits, metrics: AdapterMetrics) {
    this.#limits = limits;
    this.#metrics = metrics;
    this.#http = new HttpClient(limits.connectTimeoutMs);
  }

  send({
    account,
    method,
    path,
    headers,
    body,
    timeoutMs,
    listener,
    signal,
    onSent,
  }: UpstreamRequest): UpstreamExchange {
    const exchange = new UpstreamExchange({
      listener,
      onSent,
      timeoutMs,
      maxMs: this.#limits.maxStreamMs,
      signal,
      metrics: this.#metrics,
      deadlines: this.#deadlines,
    });
    const request = { method, path: account.basePath + path, headers, body: toSend(body) };
    return exchange.begin((listener) => this.#http.send(account.origin, request, listener));
  }

  [Symbol.dispose](): void {
    this.#http[Symbol.dispose]();
    this.#deadlines[Symbol.dispose]();
  }
}

/**
 * Pieces of little are joined, so that they leave in one write. Large ones stay as they are, for their bytes would be
 * copied in one go; they are written in turns, as fast as the connection takes them.
 */
function toSend(body: RequestBody = ''): RequestBody {
  if (!isPieces(body)) return body;
  const size = body.reduce((sum, { length }) => sum + length, 0);
  return size <= maxJoinedBytes ? Buffer.concat(body, size) : body;
}

const maxJoinedBytes = 256 * 1024;
