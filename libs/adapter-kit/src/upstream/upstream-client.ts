import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buildConnector, EnvHttpProxyAgent, Pool } from 'undici';
import type { AdapterConfig } from '../adapter-config.ts';
import type { ProviderAccount } from '../credentials/credential-cache.ts';
import type { AdapterMetrics } from '../metrics.ts';
import { type ExchangeOptions, UpstreamExchange } from './upstream-exchange.ts';

type RequestBody = Uint8Array | string | readonly Uint8Array[];

export interface UpstreamRequest {
  readonly account: ProviderAccount;
  readonly method: 'GET' | 'POST';
  /** Path under the account's base URL. */
  readonly path: string;
  /** All headers, the secret's too. */
  readonly headers: Readonly<Record<string, string>>;
  /** Pieces are sent one after the other. */
  readonly body?: RequestBody;
  /** How long the answer may take. See `UpstreamExchange.endWithin`. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** See `ExchangeOptions.onHead`. */
  readonly onHead?: ExchangeOptions['onHead'];
}

export type UpstreamLimits = Pick<AdapterConfig, 'connectTimeoutMs' | 'maxStreamMs' | 'http2' | 'proxies'>;

/**
 * The connections to providers: as many as there are calls, each used again. A request is sent at most once, whatever
 * becomes of it, and redirects are not followed. Disposing it closes all.
 */
export class UpstreamClient implements AsyncDisposable {
  readonly #maxMs: number;
  readonly #metrics: AdapterMetrics;
  readonly #dispatcher: EnvHttpProxyAgent;

  constructor(limits: UpstreamLimits, metrics: AdapterMetrics) {
    this.#maxMs = limits.maxStreamMs;
    this.#metrics = metrics;
    this.#dispatcher = createDispatcher(limits);
  }

  /** A request that can't be sent, and one after disposal, gives an exchange that has failed. */
  send({ account, method, path, headers, body = '', timeoutMs, signal, onHead }: UpstreamRequest): UpstreamExchange {
    const exchange = new UpstreamExchange({ timeoutMs, maxMs: this.#maxMs, signal, onHead, metrics: this.#metrics });
    if (exchange.isOver) return exchange;
    const { origin, basePath } = account;
    this.#dispatcher.dispatch({ origin, path: basePath + path, method, ...toSend(headers, body) }, exchange);
    return exchange;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

/** Little is joined, so that it leaves in one write. Large bodies go in slices, as fast as the connection takes them. */
function toSend(headers: UpstreamRequest['headers'], body: RequestBody) {
  if (typeof body === 'string' || body instanceof Uint8Array) return { headers, body };
  const size = body.reduce((sum, { length }) => sum + length, 0);
  if (size <= sliceBytes) return { headers, body: Buffer.concat(body, size) };
  return { headers: { ...headers, 'content-length': String(size) }, body: Readable.from(slicesOf(body)) };
}

function* slicesOf(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const piece of pieces) {
    for (let start = 0; start < piece.length; start += sliceBytes) yield piece.subarray(start, start + sliceBytes);
  }
}

const sliceBytes = 256 * 1024;

/** Trusts the certificates that Node trusts, those of NODE_EXTRA_CA_CERTS too. */
function createDispatcher({ connectTimeoutMs, http2, proxies }: UpstreamLimits): EnvHttpProxyAgent {
  const tls = { allowH2: http2, preferH2: http2 };
  const connectDirectly = buildConnector({ ...tls, timeout: connectTimeoutMs });
  // Exchanges limit their time themselves: the time until the first content is neither that of a head nor of a pause.
  const timeouts = { connectTimeout: connectTimeoutMs, headersTimeout: 0, bodyTimeout: 0 };
  const keepAlive = { keepAliveTimeout: 30_000, keepAliveMaxTimeout: 600_000, keepAliveTimeoutThreshold: 2_000 };
  const poolOptions = { ...timeouts, ...keepAlive, allowH2: http2, maxHeaderSize: 32 * 1024 };
  return new EnvHttpProxyAgent({
    ...poolOptions,
    ...proxies,
    requestTls: tls,
    factory: (origin, options: Pool.Options) => {
      const connect = typeof options.connect === 'function' ? options.connect : connectDirectly;
      return new Pool(origin, { ...poolOptions, ...options, connect: failingOnReset(connect) });
    },
    // To the proxy itself: how long it may take to open a tunnel.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: connectTimeoutMs }),
  });
}

/** undici takes a reset for the end of an answer that lasts until its connection ends, unless the error has another code. */
function failingOnReset(connect: buildConnector.connector): buildConnector.connector {
  const failOnReset = (socket: Socket) =>
    socket.prependListener('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') error.code = 'EPIPE';
    });
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error === null) callback(null, failOnReset(socket));
      else callback(error, null);
    });
}
