import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { type DescMethod, type DescService, fromBinary, type Message } from '@bufbuild/protobuf';
import { MultiplexService, type OpenResponse } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import { activeTraceparent, type Metrics } from '@gateway/telemetry';
import {
  type ChannelCredentials,
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

/** A service at an address: one connection per replica behind the name, calls spread over them. */
export interface Channel extends Disposable {
  client<S extends DescService>(service: S): Client<S>;
}

export interface ChannelOptions {
  /** How often the name is looked up. Default: 5 s. */
  readonly resolveIntervalMs?: number | undefined;
  /** The addresses, `ip:port`, that the URL stands for. Default: all that its name resolves to, with its port. */
  readonly resolve?: (() => Promise<readonly string[]>) | undefined;
  /** The service that is called: with TLS, replicas must have a certificate of it. */
  readonly service?: string | undefined;
  /** What this process proves itself with. Needed for an `https:` URL, and used for no other. */
  readonly tls?: Tls | undefined;
  /** A replica can't be reached, for this reason since now. It is tried again. */
  readonly onUnreachable?: ((address: string, problem: Error) => void) | undefined;
  /** Where calls are counted. */
  readonly metrics?: Metrics | undefined;
  /** In place of our own settings of grpc-js. */
  readonly grpc?: GrpcOptions | undefined;
}

/**
 * Opens a channel on which all calls to a replica share one long-lived stream. `url` is `http://host:port` or `https://host:port`,
 * whose name is looked up at the first call, or `unix:/path` of a socket. Connections are made again when they break. Disposing
 * lets running calls end.
 */
export function openChannel(url: string, options: ChannelOptions = {}): Channel {
  const { protocol, hostname, port, host } = new URL(url);
  const credentialsOf = credentialsFor(protocol, options);
  const replicas = new Replicas({
    name: host || url,
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

type ReadyReplicas = Pick<Replicas, 'pick' | 'untilReady'>;

/** A client whose calls go to sessions of `replicas`. */
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

/** The answer to a unary call, which its caller or its deadline may end before. */
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

/** The first session to a replica that is there. */
async function readySession(replicas: ReadyReplicas, signal: AbortSignal): Promise<ClientSession> {
  for (;;) {
    await replicas.untilReady();
    signal.throwIfAborted();
    const session = replicas.pick();
    if (session !== undefined) return session;
  }
}

/** Those for the next connection: with TLS, what proves this process may have changed. */
function credentialsFor(protocol: string, { service, tls }: ChannelOptions): () => ChannelCredentials {
  if (protocol !== 'https:') return () => credentials.createInsecure();
  if (tls === undefined || service === undefined) {
    throw new Error(
      'A channel to an https: URL needs certificates, and the name of the service that it expects there.',
    );
  }
  return () => tls.channelCredentials(service);
}

/** Resolves once the replica has accepted the stream. */
async function connect(
  address: string,
  channelCredentials: ChannelCredentials,
  options: ChannelOptions,
  signal: AbortSignal,
): Promise<ClientSession> {
  const client = new GrpcClient(grpcTarget(address), endedWithTheirClient(channelCredentials), {
    ...clientOptions,
    // The name that is asked for in TLS, where an address may not stand.
    'grpc.ssl_target_name_override': options.service,
    ...options.grpc,
  });
  const { path, requestSerialize, responseDeserialize } = grpcMethod(MultiplexService.method.open);
  const stream = client.makeBidiStreamRequest<object, OpenResponse>(
    path,
    requestSerialize,
    // The descriptor says which message it is.
    responseDeserialize as (bytes: Buffer) => OpenResponse,
    new Metadata(),
  );
  // Also after all else has left the stream.
  stream.on('error', () => undefined).on('close', () => client.close());
  try {
    await once(stream, 'metadata', { signal });
  } catch (thrown) {
    stream.cancel();
    // A stream that nobody has read is never closed, and a client left open goes on connecting.
    client.close();
    throw thrown;
  }
  return new ClientSession(stream);
}

/**
 * A client of grpc-js that is closed while it pauses before its next attempt to connect makes that one still, and keeps the
 * connection for good. With these credentials the attempt fails.
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

/** Every address of a name, IPv6 in brackets. */
async function addressesOf(hostname: string, port: string): Promise<readonly string[]> {
  const found = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
  return found.map(({ address }) => (isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`));
}

/** An address as grpc-js names it. */
function grpcTarget(address: string): string {
  if (address.startsWith('unix:')) return address;
  return address.startsWith('[') ? `ipv6:${address}` : `ipv4:${address}`;
}
