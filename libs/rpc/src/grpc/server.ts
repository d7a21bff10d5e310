import { once } from 'node:events';
import { createServer, type Server as Listener, type Socket } from 'node:net';
import type { DescMethod, Message } from '@bufbuild/protobuf';
import { MultiplexService, type OpenRequest, type OpenResponse } from '@gateway/proto/rpc/v2/multiplex_service_pb.js';
import type { Metrics } from '@gateway/telemetry';
import { cancelTimer, startTimer } from '@gateway/time';
import {
  type handleBidiStreamingCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  ServerInterceptingCall,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { mayCall, serviceNamesIn } from '../call-table.ts';
import { type OnFault, RpcError, toCallFailure } from '../errors.ts';
import { ServerSession } from '../multiplex/server-session.ts';
import { CallObserver } from '../observed-calls.ts';
import { answerAll, asksOnce, firstOf, pathOf, type ServedMethod, servedMethods } from '../served-methods.ts';
import type { Caller, ServiceRoute } from '../service-types.ts';
import { grpcMethod, serverOptions } from './definition.ts';
import { addReflection } from './reflection.ts';
import type { OnRefusedConnection, Tls } from './tls.ts';

export interface GrpcServerOptions {
  /** A host, or `unix:/path` of a socket: only users with access to its folder can connect. */
  readonly host: string;
  /** 0 picks a free port. Ignored for a socket. */
  readonly port: number;
  readonly routes: readonly ServiceRoute[];
  readonly onFault?: OnFault;
  /** Where calls are measured. */
  readonly metrics?: Metrics | undefined;
  /**
   * Requires peers to have a certificate, and enforces the call table. Default: any caller, without
   * encryption.
   */
  readonly tls?: Tls | undefined;
  /**
   * Called, with TLS, for connections that are refused and for calls that the table does not allow.
   */
  readonly onRefused?: OnRefused;
}

/** A connection or call that was refused. */
export type Refusal =
  /** A refused call. `caller`: the names in its certificate. */
  { readonly path: string; readonly caller: readonly string[] } | Parameters<OnRefusedConnection>[0];

export type OnRefused = (refusal: Refusal) => void;

const keepAliveMs = 10_000;

/** The trailer that contains a gateway.error.v1.ErrorDetail in binary form. */
const errorDetailTrailer = 'gateway-error-bin';

/**
 * Serves routes over gRPC, with the standard health and reflection services. Other processes of the
 * gateway send many calls over one long-lived stream; handlers see no difference.
 */
export class GrpcServer {
  readonly #options: GrpcServerOptions;
  readonly #observer: CallObserver;
  readonly #server: Server;
  readonly #health = new HealthImplementation({ '': 'NOT_SERVING' });
  /** Sessions of shared streams, each with a promise of its end. */
  readonly #sessions = new Map<ServerSession, Promise<void>>();
  readonly #listener: Listener;
  readonly #connections = new Set<Socket>();
  #isStopping = false;

  /** @throws an error with a `code`, such as `EADDRINUSE`, as Node's servers do. */
  static async listen(options: GrpcServerOptions): Promise<GrpcServer> {
    const server = new GrpcServer(options);
    const { host, port } = options;
    server.#listener.listen(host.startsWith('unix:') ? { path: host.slice('unix:'.length) } : { host, port });
    await once(server.#listener, 'listening');
    return server;
  }

  private constructor(options: GrpcServerOptions) {
    const { routes, onFault, tls } = options;
    this.#options = options;
    const observer = new CallObserver('server', options.metrics);
    this.#observer = observer;
    this.#server = new Server({ ...serverOptions, interceptors: tls === undefined ? [] : [this.#checkCaller] });
    this.#health.addToServer(this.#server);
    addReflection(
      this.#server,
      routes.map(({ service }) => service),
    );
    const methods = servedMethods(routes);
    for (const served of methods.values()) {
      this.#register(served.method, (stream) => this.#answerCall(stream, served));
    }
    this.#register(MultiplexService.method.open, (stream: MultiplexedStream) => {
      const caller = tls === undefined ? undefined : callerOf(stream);
      const check = (path: string) => this.#check(caller, path);
      const session = new ServerSession(stream, { methods, onFault, check, caller, observer });
      const ended = serveCalls(stream, session).finally(() => this.#sessions.delete(session));
      this.#sessions.set(session, ended);
      if (this.#isStopping) session.goAway();
    });
    this.#listener = this.#createListener().on('connection', (connection: Socket) => {
      this.#connections.add(connection);
      connection.once('close', () => this.#connections.delete(connection));
    });
  }

  /** The port that the server listens on; 0 for a socket. */
  get port(): number {
    const address = this.#listener.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** Sets the answer of the health service. */
  setServing(serving: boolean): void {
    this.#health.setStatus('', serving ? 'SERVING' : 'NOT_SERVING');
  }

  /**
   * Takes no new calls, lets running ones finish, and cancels what is left after `graceMs`.
   * Connections are closed after their streams: on a closing connection a client could not ask for
   * a sign of life.
   */
  async stop(graceMs: number): Promise<void> {
    this.setServing(false);
    this.#isStopping = true;
    const closed = once(this.#listener.close(), 'close');
    for (const session of this.#sessions.keys()) session.goAway();
    const force = startTimer(() => {
      for (const connection of this.#connections) connection.destroy();
    }, graceMs);
    await Promise.race([Promise.all(this.#sessions.values()), closed]);
    this.#server.tryShutdown(() => undefined);
    await closed;
    cancelTimer(force);
  }

  /**
   * The listener is our own: grpc-js does not report why a handshake failed, and can't stop
   * listening without closing connections.
   */
  #createListener(): Listener {
    const { tls, onRefused } = this.#options;
    const injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    const accept = (socket: Socket): void => {
      // A connection whose handshake finishes after the listener has closed would be cut off with
      // its first calls.
      if (this.#isStopping) return void socket.destroy();
      // The system finds out whether a client has vanished: it has time when this process has none.
      socket.setKeepAlive(true, keepAliveMs);
      injector.injectConnection(socket);
    };
    return tls === undefined ? createServer(accept) : tls.createServer(accept, onRefused);
  }

  /**
   * On the server side, a method of any kind takes a stream of requests and gives a stream of
   * responses.
   */
  #register<I extends object, O extends object>(method: DescMethod, handle: handleBidiStreamingCall<I, O>): void {
    const { path, requestDeserialize, responseSerialize } = grpcMethod(method);
    // The descriptor determines the message type.
    const deserialize = requestDeserialize as (bytes: Buffer) => I;
    this.#server.register(path, handle, responseSerialize, deserialize, 'bidi');
  }

  /** Answers a call that has a stream of its own, as other gRPC clients make it. */
  async #answerCall(stream: ServerDuplexStream<object, object>, served: ServedMethod): Promise<void> {
    const cancelled = new AbortController();
    // grpc-js reports a passed deadline and a cancellation by the same event.
    if (stream.cancelled) cancelled.abort();
    else stream.once('cancelled', () => cancelled.abort());
    const { signal } = cancelled;
    try {
      // Reading the last request must not close the side that sends responses.
      const requests: AsyncIterable<object> = stream.iterator({ destroyOnReturn: false });
      const request = asksOnce(served.method) ? await firstOf(requests) : requests;
      if (request === undefined) throw new RpcError('internal', 'The call has no message.');
      const call = answerAll<Message>(
        served,
        request,
        { signal, caller: callerOf(stream) },
        { onFault: this.#options.onFault },
      );
      const [traceparent] = stream.metadata.get('traceparent');
      for await (const response of this.#observer.observe(served.method, call, traceparent?.toString())) {
        if (!stream.write(response)) await once(stream, 'drain', { signal });
      }
      stream.end();
    } catch (thrown) {
      if (!signal.aborted) stream.emit('error', toServiceError(thrown));
    }
  }

  /**
   * Checks calls that have a stream of their own, including calls of unknown methods. Calls on a
   * shared stream are checked one by one.
   */
  readonly #checkCaller: ServerInterceptor = ({ path }, call) =>
    new ServerInterceptingCall(call, {
      start: (next) => {
        const isForAll = path.startsWith('/grpc.') || path === pathOf(MultiplexService.method.open);
        try {
          if (!isForAll) this.#check(callerOf(call), path);
        } catch (thrown) {
          return call.sendStatus(toServiceError(thrown));
        }
        next();
      },
    });

  /**
   * Throws when the call table does not allow the caller to call the path. Without TLS, callers are
   * not authenticated.
   */
  #check(caller: Caller | undefined, path: string): void {
    if (caller === undefined || mayCall(caller, path)) return;
    this.#options.onRefused?.({ path, caller });
    throw new RpcError('permission_denied', `${caller.join(', ') || 'A caller without a name'} may not call ${path}.`);
  }
}

/** The names in a connection's certificate; empty without TLS. */
function callerOf(stream: Pick<ServerDuplexStream<object, object>, 'getAuthContext'>): Caller {
  return serviceNamesIn(stream.getAuthContext()?.sslPeerCertificate?.subjectaltname);
}

type MultiplexedStream = ServerDuplexStream<OpenRequest, OpenResponse>;

/** Serves the calls of another process of the gateway, which share one stream. */
async function serveCalls(stream: MultiplexedStream, session: ServerSession): Promise<void> {
  // A cancelled stream may look as if its client had ended it.
  stream.once('cancelled', () => session.cancel());
  // The client waits for the metadata before it makes calls.
  stream.sendMetadata(new Metadata());
  try {
    await session.serve(stream.iterator({ destroyOnReturn: false }));
  } catch (thrown) {
    // Has no effect on a lost stream, whose calls are already cancelled.
    if (!stream.cancelled) stream.emit('error', toServiceError(thrown));
  }
}

/**
 * Converts a handler's failure to gRPC: a status, a message for people, and the detail in a
 * trailer.
 */
function toServiceError(thrown: unknown) {
  const { status, message, detail } = toCallFailure(thrown);
  const metadata = new Metadata();
  if (detail !== undefined) metadata.set(errorDetailTrailer, Buffer.from(detail));
  return { code: status, details: message, metadata };
}
