import { Agent } from 'undici';
import type { AdapterMetrics } from '../adapter-metrics.ts';
import type { ProviderAccount } from '../credentials/credential-cache.ts';
import { Deadlines } from './deadlines.ts';
import { UpstreamExchange } from './upstream-exchange.ts';

export interface UpstreamRequest {
  readonly account: ProviderAccount;
  readonly method: 'GET' | 'POST';
  /** Path under the account's base URL. */
  readonly path: string;
  /** All headers, the secret's too. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** How long the answer may take to begin. See `UpstreamExchange`. */
  readonly timeoutMs: number;
  /** Aborting it ends the exchange at once, in any state. */
  readonly signal: AbortSignal;
}

/** The connections to providers. Disposing it closes them all. */
export class UpstreamClient implements AsyncDisposable {
  readonly #agent: Agent;
  readonly #metrics: AdapterMetrics;
  readonly #deadlines = new Deadlines();

  constructor(connectTimeoutMs: number, metrics: AdapterMetrics) {
    this.#metrics = metrics;
    this.#agent = new Agent({
      connect: { timeout: connectTimeoutMs },
      // Silence is watched by the exchange, which knows whether an answer has begun and whether its reader is slow.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 30_000,
      // One connection a stream: cancelling is closing it, and no stream waits for another one's window.
      allowH2: false,
    });
  }

  send({ account, method, path, headers, body, timeoutMs, signal }: UpstreamRequest): UpstreamExchange {
    const exchange = new UpstreamExchange({
      timeoutMs,
      signal,
      metrics: this.#metrics,
      deadlines: this.#deadlines,
    });
    this.#agent.dispatch(
      {
        origin: account.origin,
        path: account.basePath + path,
        method,
        headers,
        body: body ?? null,
      },
      exchange,
    );
    return exchange;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
    this.#deadlines[Symbol.dispose]();
  }
}
