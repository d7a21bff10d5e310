import { Readable } from 'node:stream';
import { BulkTurns } from '@gateway/time';
import { Agent } from 'undici';
import type { AdapterMetrics } from '../adapter-metrics.ts';
import type { ProviderAccount } from '../credentials/credential-cache.ts';
import { slicesOf } from '../slices.ts';
import { Deadlines } from './deadlines.ts';
import { type ExchangeListener, UpstreamExchange } from './upstream-exchange.ts';

export interface UpstreamRequest {
  readonly account: ProviderAccount;
  readonly method: 'GET' | 'POST';
  /** Path under the account's base URL. */
  readonly path: string;
  /** All headers, the secret's too. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | readonly Uint8Array[];
  /** How long the answer may take to begin. See `UpstreamExchange`. */
  readonly timeoutMs: number;
  readonly listener: ExchangeListener;
  /** Aborting it ends the exchange at once, in any state. */
  readonly signal?: AbortSignal;
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

  send({ account, method, path, headers, body, timeoutMs, listener, signal }: UpstreamRequest): UpstreamExchange {
    const exchange = new UpstreamExchange({
      listener,
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
        ...toSend(headers, body),
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

/**
 * Pieces of little are joined, so that they leave in one write. Large ones stay as they are, for their bytes would be
 * copied in one go; they are written in turns, as fast as the connection takes them.
 */
function toSend(headers: UpstreamRequest['headers'], body: UpstreamRequest['body'] = '') {
  if (!isPieces(body)) return { headers, body };
  const size = body.reduce((sum, { length }) => sum + length, 0);
  if (size <= maxJoinedBytes) return { headers, body: Buffer.concat(body, size) };
  return {
    headers: { ...headers, 'content-length': String(size) },
    body: Readable.from(inTurns(slicesOf(body)), { objectMode: false }),
  };
}

function isPieces(body: Uint8Array | string | readonly Uint8Array[]): body is readonly Uint8Array[] {
  return Array.isArray(body);
}

const maxJoinedBytes = 256 * 1024;

async function* inTurns(slices: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const turns = new BulkTurns();
  for (const slice of slices) {
    yield slice;
    const turn = turns.spend(slice.length);
    if (turn !== undefined) await turn;
  }
}
