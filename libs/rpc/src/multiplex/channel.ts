import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { type DescMethod, type DescService, fromBinary, type Message } from '@bufbuild/protobuf';
import { MultiplexService, type OpenResponse } from '@gateway/proto/rpc/v2/multiplex_service_pb.js';
import { activeTraceparent, type Metrics } from '@gateway/telemetry';
import {
  type ChannelCredentials,
  type ClientUnaryCall,
  credentials,
  Client as GrpcClient,
  type ChannelOptions as GrpcOptions,
  Metadata,
} from '@grpc/grpc-js';
import { Call } from '../call.ts';
import { clientBy } from '../client.ts';
import { clientOptions, grpcMethod } from '../grpc/definition.ts';
import type { Tls } from '../grpc/tls.ts';
import { CallObserver } from '../observed-calls.ts';
import { encoded, mapped, pathOf } from '../served-methods.ts';
import type { CallContext, CallOptions, Client } from '../service-types.ts';
import { UnaryCall } from '../unary-call.ts';
import { ClientSession, type NewCall } from './client-session.ts';
import { Replicas } from './replicas.ts';
import { type SilenceLimits, usualSilence, watchForSilence } from './watch-for-silence.ts';

/**
 * A service at an address: one connection for each replica behind the name, with calls spread over
 * them.
 */
export interface Channel extends Disposable {
  client<S extends DescService>(service: S): Client<S>;
}

export interface ChannelOptions {
  /** How often the name is resolved. Default: 5 s. */
  readonly resolveIntervalMs?: number;
  /**
   * Returns the addresses, `ip:port`, that the URL stands for. Default: all addresses of its host
   * name, with its port.
   */
  readonly resolve?: () => Promise<readonly string[]>;
  /** The service to call: with TLS, replicas must have a certificate for it. */
  readonly service?: string;
  /** The certificate of this process. Required for an `https:` URL, and not used for others. */
  readonly tls?: Tls | undefined;
  /** Called when a replica becomes unreachable, with the reason. The channel keeps trying. */
  readonly onUnreachable?: (address: string, problem: Error) => void;
  /** When a replica that does not answer is given up. */
  readonly silence?: SilenceLimits | undefined;
  /** Where calls are measured. */
  readonly metrics?: Metrics | undefined;
  /** Replaces our settings of grpc-js. */
  readonly grpc?: GrpcOptions | undefined;
}

/**
 * Opens a channel on which all calls to a replica share one long-lived stream. `url` is
 * `http://host:port` or `https://host:port`, whose name is resolved at the first call, or
 * `unix:/path` of a socket. Lost connections are reestablished. After disposal, running calls still
 * finish.
 */
export function openChannel(url: string, options: ChannelOptions = {}): Channel {
  const { protocol, hostname, port, host } = new URL(url);
  const credentialsOf = credentialsFor(protocol, options);
  const replicas = new Replicas({
    name: nameOf(host || url, options.service),
    resolve:
      options.resolve ??
      (protocol === 'unix:'
        ? async () => [url]
        : () => addressesOf(hostname, port || (protocol === 'https:' ? '443' : '80'))),
    connect: (address, signal) => connect(address, credentialsOf(), options, signal),
    onUnreachable: options.onUnreachable,
    resolveIntervalMs: options.resolveIntervalMs ?? 5_000,
    firstBackoffMs: 25,
  });
  const observer = new CallObserver('client', options.metrics);
  return {
    client: (service) => clientOf(service, replicas, observer),
    [Symbol.dispose]: () => replicas[Symbol.dispose](),
  };
}

/** For people: they know services, and seldom addresses. */
function nameOf(address: string, service: string | undefined): string {
  return service === undefined ? `The service at ${address}` : `The ${service} (${address})`;
}

type ReadyReplicas = Pick<Replicas, 'pick' | 'untilReady'>;

/** A client that makes its calls on sessions of `replicas`. */
export function clientOf<S extends DescService>(
  service: S,
  replicas: ReadyReplicas,
  observer = new CallObserver('client'),
): Client<S> {
  return clientBy(service, (method) => ({
    once: (request, options) => {
      const call = new UnaryCall<Message>(options);
      return observer.observeOnce(method, () => call.run(() => answerOf(replicas, method, request, call, options)));
    },
    stream: (request, options) => {
      const onAnswered = () => observed.end('OK');
      const call = new Call(options, {
        begin: ({ signal }) => responses(replicas, method, request, { ...options, signal, onAnswered }),
        toResponse: (bytes) => fromBinary(method.output, bytes),
      });
      const observed = observer.observe(method, call);
      return observed;
    },
  }));
}

/** The answer to a unary call, which its caller or its deadline may end early. */
async function answerOf(
  replicas: ReadyReplicas,
  method: DescMethod,
  request: object,
  call: UnaryCall<Message>,
  { timeoutMs }: CallOptions,
): Promise<Message> {
  const session = replicas.pick() ?? (await readySession(replicas, call.signal));
  const traceparent = activeTraceparent();
  const asked = session.ask({
    path: pathOf(method),
    timeoutMs,
    traceparent,
    request: encoded(method.input, request),
  });
  call.whenFailed(asked.cancel);
  return fromBinary(method.output, await asked.answer);
}

/** @param request a message, or an iterable of messages */
async function* responses(
  replicas: ReadyReplicas,
  method: DescMethod,
  request: object,
  { signal, timeoutMs, onAnswered }: CallOptions & CallContext & Pick<NewCall, 'onAnswered'>,
): AsyncGenerator<Uint8Array, undefined> {
  const session = replicas.pick() ?? (await readySession(replicas, signal));
  const bytes = mapped(request, (fields) => encoded(method.input, fields));
  const traceparent = activeTraceparent();
  yield* session.start({ path: pathOf(method), timeoutMs, traceparent, request: bytes, signal, onAnswered });
}

/** A session to the first replica that becomes ready. */
async function readySession(replicas: ReadyReplicas, signal: AbortSignal): Promise<ClientSession> {
  for (;;) {
    await replicas.untilReady();
    signal.throwIfAborted();
    const session = replicas.pick();
    if (session !== undefined) return session;
  }
}

/**
 * Returns the credentials for the next connection: with TLS, this process's certificate may have
 * changed.
 */
function credentialsFor(protocol: string, { service, tls }: ChannelOptions): () => ChannelCredentials {
  if (protocol !== 'https:') return () => credentials.createInsecure();
  if (tls === undefined || service === undefined) {
    throw new Error(
      'A channel to an https: URL needs certificates, and the name of the service that it expects there.',
    );
  }
  return () => tls.channelCredentials(service);
}

/**
 * Resolves once the replica has accepted the stream. From then on the session ends when the replica
 * gives no sign of life, unless it is on this machine: there it lives as long as its connection.
 */
async function connect(
  address: string,
  channelCredentials: ChannelCredentials,
  options: ChannelOptions,
  signal: AbortSignal,
): Promise<ClientSession> {
  const client = new GrpcClient(grpcTarget(address), endedWithTheirClient(channelCredentials), {
    ...clientOptions,
    // The server name for TLS, which must not be an address.
    ...(options.service !== undefined && { 'grpc.ssl_target_name_override': options.service }),
    ...options.grpc,
  });
  const { path, requestSerialize, responseDeserialize } = grpcMethod(MultiplexService.method.open);
  const stream = client.makeBidiStreamRequest<object, OpenResponse>(
    path,
    requestSerialize,
    // The descriptor determines the message type.
    responseDeserialize as (bytes: Buffer) => OpenResponse,
    new Metadata(),
  );
  // Errors after the end of the stream need a listener too.
  stream.on('error', () => undefined).on('close', () => client.close());
  const silent = new AbortController();
  const onSilent = () => silent.abort(new Error('it accepts connections, but does not answer'));
  const silence = options.silence ?? usualSilence;
  const isLocal = address.startsWith('unix:');
  // The stream itself is the probe.
  const opening = { received: 0, isWaiting: true, probe: () => never, onSilent };
  const watchOfOpening = isLocal ? undefined : watchForSilence(opening, silence);
  try {
    await once(stream, 'metadata', { signal: AbortSignal.any([signal, silent.signal]) });
  } catch (thrown) {
    stream.cancel();
    // A stream that is never read never closes, and a client that is left open keeps connecting.
    client.close();
    throw silent.signal.aborted ? silent.signal.reason : thrown;
  } finally {
    watchOfOpening?.[Symbol.dispose]();
  }
  const session = new ClientSession(stream);
  if (!isLocal) {
    const health = new HealthProbe(client);
    const watch = watchForSilence(
      {
        get received() {
          return session.received;
        },
        get isWaiting() {
          return session.inFlight > 0;
        },
        probe: () => health.probe(),
        onSilent: () => stream.cancel(),
      },
      silence,
    );
    stream.once('close', () => {
      watch[Symbol.dispose]();
      health[Symbol.dispose]();
    });
  }
  return session;
}

/** Asks the standard health service of a replica about all it serves, on the same connection. */
class HealthProbe implements Disposable {
  readonly #client: GrpcClient;
  #call: ClientUnaryCall | undefined;

  constructor(client: GrpcClient) {
    this.#client = client;
  }

  /** Resolves with any answer, because only a process that lives gives one. Never rejects. */
  probe(): Promise<void> {
    return new Promise((resolve) => {
      this.#call = this.#client.makeUnaryRequest(healthPath, asBytes, asBytes, Buffer.alloc(0), () => resolve());
    });
  }

  /** A call that no one answers would keep its connection open. */
  [Symbol.dispose](): void {
    this.#call?.cancel();
  }
}

const healthPath = '/grpc.health.v1.Health/Check';

const asBytes = (message: Buffer) => message;

const never = new Promise<never>(() => undefined);

/**
 * A grpc-js client that is closed during the pause before its next connection attempt still makes
 * that attempt, and keeps the connection forever. These credentials make the attempt fail.
 */
function endedWithTheirClient(channelCredentials: ChannelCredentials): ChannelCredentials {
  const create = channelCredentials._createSecureConnector.bind(channelCredentials);
  channelCredentials._createSecureConnector = (...given) => {
    const connector = create(...given);
    const ended = new AbortController();
    return {
      connect: (socket) => connector.connect(socket),
      getCallCredentials: () => connector.getCallCredentials(),
      async waitForReady() {
        ended.signal.throwIfAborted();
        await connector.waitForReady();
      },
      destroy() {
        ended.abort();
        connector.destroy();
      },
    };
  };
  return channelCredentials;
}

/** All addresses of a host name, IPv6 in brackets. */
async function addressesOf(hostname: string, port: string): Promise<readonly string[]> {
  const found = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
  return found.map(({ address }) => (isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`));
}

/** An address in the notation of grpc-js. */
function grpcTarget(address: string): string {
  if (address.startsWith('unix:')) return address;
  return address.startsWith('[') ? `ipv6:${address}` : `ipv4:${address}`;
}
