import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buildConnector, Client, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import type { AdapterConfig } from '../adapter-config.ts';
import type { ProviderAccount } from '../credentials/credential-cache.ts';
import type { AdapterMetrics } from '../metrics.ts';
import { type AnswerState, type ProviderConnection, skipInformational } from './skip-informational.ts';
import { type ExchangeOptions, UpstreamExchange } from './upstream-exchange.ts';

type RequestBody = Uint8Array | string | readonly Uint8Array[];

export interface UpstreamRequest {
  readonly account: ProviderAccount;
  readonly method: 'GET' | 'POST';
  /** The path relative to the account's base URL. */
  readonly path: string;
  /** All headers, including the secret's. */
  readonly headers: Readonly<Record<string, string>>;
  /** Pieces are sent one after the other. */
  readonly body?: RequestBody;
  /** How long the answer may take. See `UpstreamExchange.endWithin`. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** See `ExchangeOptions.onHead`. */
  readonly onHead?: ExchangeOptions['onHead'];
}

export type UpstreamLimits = Pick<AdapterConfig, 'connectTimeoutMs' | 'maxStreamMs' | 'http2' | 'proxies'>;

/**
 * The connections to providers: as many as there are concurrent calls, and reused. A request is
 * sent once, whatever happens to it, except when an idle connection closes under it; see
 * `UpstreamExchange`. Redirects are not followed. Disposal closes all connections.
 */
export class UpstreamClient implements AsyncDisposable {
  readonly #limits: UpstreamLimits;
  readonly #metrics: AdapterMetrics;
  readonly #dispatcher: EnvHttpProxyAgent;
  /** A new connection for each request that is sent again. */
  readonly #fresh = new Set<EnvHttpProxyAgent>();
  #isDisposed = false;

  constructor(limits: UpstreamLimits, metrics: AdapterMetrics) {
    this.#limits = limits;
    this.#metrics = metrics;
    this.#dispatcher = createDispatcher(limits);
  }

  /** A request that can't be sent, or that comes after disposal, returns a failed exchange. */
  send({ account, method, path, headers, body = '', timeoutMs, signal, onHead }: UpstreamRequest): UpstreamExchange {
    const { origin, basePath } = account;
    const dispatch = (dispatcher: EnvHttpProxyAgent, to: UpstreamExchange) =>
      dispatcher.dispatch({ origin, path: basePath + path, method, ...toSend(headers, body) }, to);
    const sendAgain = (again: UpstreamExchange) => this.#onNewConnection((dispatcher) => dispatch(dispatcher, again));
    const { maxStreamMs: maxMs } = this.#limits;
    const exchange = new UpstreamExchange({ timeoutMs, maxMs, signal, onHead, sendAgain, metrics: this.#metrics });
    if (!exchange.isOver) dispatch(this.#dispatcher, exchange);
    return exchange;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await Promise.all([this.#dispatcher, ...this.#fresh].map((dispatcher) => dispatcher.destroy()));
  }

  /**
   * The provider may have closed the other idle connections of the pool too. The new connection
   * closes after its answer.
   */
  #onNewConnection(dispatch: (dispatcher: EnvHttpProxyAgent) => void): void {
    const fresh = createDispatcher(this.#limits);
    this.#fresh.add(fresh);
    dispatch(fresh);
    const ended = this.#isDisposed ? fresh.destroy() : fresh.close();
    void ended.finally(() => this.#fresh.delete(fresh));
  }
}

/**
 * Small bodies are joined with the head into one write. Large bodies are sent in slices, as fast as
 * the connection accepts them.
 */
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

/** Trusts Node's certificates, including those of NODE_EXTRA_CA_CERTS. */
function createDispatcher({ connectTimeoutMs, http2, proxies }: UpstreamLimits): EnvHttpProxyAgent {
  const tls = { allowH2: http2, preferH2: http2 };
  const connectDirectly = buildConnector({ ...tls, timeout: connectTimeoutMs });
  // Exchanges limit their time themselves, because neither undici's timeout of the head nor that of
  // a pause matches the time until the first content.
  const timeouts = { connectTimeout: connectTimeoutMs, headersTimeout: 0, bodyTimeout: 0 };
  const keepAlive = { keepAliveTimeout: 30_000, keepAliveMaxTimeout: 600_000, keepAliveTimeoutThreshold: 2_000 };
  const poolOptions = { ...timeouts, ...keepAlive, allowH2: http2, maxHeaderSize: 32 * 1024 };
  return new EnvHttpProxyAgent({
    ...poolOptions,
    ...proxies,
    requestTls: tls,
    factory: (origin, options: Pool.Options) => {
      const connect = typeof options.connect === 'function' ? options.connect : connectDirectly;
      const failing = failingOnReset(connect);
      const factory = (to: URL | string, ofClient: Client.Options) =>
        new Connection(to, { ...ofClient, connect: failing });
      return new Pool(origin, { ...poolOptions, ...options, factory, connect: failing });
    },
    // Applies to the proxy itself: how long it may take to open a tunnel.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: connectTimeoutMs }),
  });
}

/**
 * An answer without a length lasts until its connection ends. undici takes a reset for that end
 * unless the error has another code.
 */
function failingOnReset(connect: Connect): Connect {
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

type Connect = buildConnector.connector;

/** A client with one connection at a time, which it shows to each request on it. */
class Connection extends Client implements ProviderConnection {
  /** How many answers have ended on the connection. */
  served = 0;
  readonly #state: AnswerState;

  constructor(origin: URL | string, { connect, ...options }: Client.Options & { readonly connect: Connect }) {
    const state = { awaitsAnswer: false, hasPart: false };
    super(origin, {
      ...options,
      connect: (to, callback) =>
        connect(to, (...[error, socket]) => {
          state.hasPart = false;
          if (error === null) callback(null, skipInformational(socket, state));
          else callback(error, null);
        }),
    });
    this.#state = state;
    this.on('connect', () => {
      this.served = 0;
    });
  }

  /** A request is being sent. */
  onRequest(): void {
    this.#state.awaitsAnswer = true;
    this.#state.hasPart = false;
  }

  /** Part of an answer has arrived. */
  get hasPart(): boolean {
    return this.#state.hasPart;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (wantsConnection(handler)) handler.onConnection(this);
    return super.dispatch(options, handler);
  }
}

function wantsConnection(handler: Dispatcher.DispatchHandler): handler is ConnectionHandler {
  return 'onConnection' in handler;
}

/** A handler that needs the connection of its request. */
interface ConnectionHandler extends Dispatcher.DispatchHandler {
  /** Called before the request starts on the connection. */
  onConnection(connection: ProviderConnection): void;
}
