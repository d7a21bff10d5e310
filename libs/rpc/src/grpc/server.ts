import { type EventEmitter, once } from 'node:events';
import { createServer, type Server as Listener, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { DescMethod } from '@bufbuild/protobuf';
import { MultiplexService, type OpenRequest, type OpenResponse } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { CallScope } from '../call-scope.ts';
import { isFault, type OnFault, requestIdOf, toCallFailure } from '../errors.ts';
import { handlerOf, type MethodHandler, type SingleHandler, type StreamHandler, servedMethods } from '../methods.ts';
import { ServerSession } from '../multiplex/server-session.ts';
import type { ServiceRoute } from '../service-types.ts';
import { CallerCheck, type OnRefused } from './caller-check.ts';
import { grpcDefinition, serverOptions } from './definition.ts';
import { addReflection } from './reflection.ts';
import type { Tls } from './tls.ts';

export interface GrpcServerOptions {
  /** A host; or `unix:/path` of a socket, which only those reach who may enter its folder. */
  readonly host: string;
  /** 0 picks a free port. A socket has none. */
  readonly port: number;
  readonly routes: readonly ServiceRoute[];
  readonly onFault?: OnFault | undefined;
  /** Takes encrypted connections of peers with a certificate, and calls that the call table gives them. Default: any, in the clear. */
  readonly tls?: Tls | undefined;
  /** Receives what is not let in, with TLS: connections, and calls that the table does not give their caller. */
  readonly onRefused?: OnRefused | undefined;
}

/** Trailer that carries a gateway.error.v1.ErrorDetail in binary form. */
export const errorDetailTrailer = 'gateway-error-bin';

/**
 * Serves routes over gRPC, with the standard health and reflection services. The gateway's own processes send many calls
 * over one long-lived stream instead; the handlers see no difference.
 */
export class GrpcServer {
  readonly #server: Server;
  readonly #health = new HealthImplementation({ '': 'NOT_SERVING' });
  /** The streams of calls, and when each has ended. */
  readonly #sessions = new Map<ServerSession, Promise<void>>();
  readonly #listener: Listener;
  readonly #connections = new Set<Socket>();
  #isStopping = false;

  /** @throws an error with `code: 'EADDRINUSE'` and the like, as Node's servers do. */
  static async listen(options: GrpcServerOptions): Promise<GrpcServer> {
    const server = new GrpcServer(options);
    const { host, port } = options;
    server.#listener.listen(host.startsWith('unix:') ? { path: host.slice('unix:'.length) } : { host, port });
    await once(server.#listener, 'listening');
    return server;
  }

  private constructor(options: GrpcServerOptions) {
    const { routes, onFault, tls, onRefused } = options;
    const check = tls && new CallerCheck(onRefused);
    this.#server = new Server({ ...serverOptions, interceptors: check === undefined ? [] : [check.interceptor] });
    this.#health.addToServer(this.#server);
    const services = routes.map(({ service }) => service);
    addReflection(this.#server, services);
    for (const route of routes) this.#server.addService(grpcDefinition(route.service), implement(route, onFault));
    const methods = servedMethods(routes);
    this.#server.addService(grpcDefinition(MultiplexService), {
      open: (stream: MultiplexedStream) => {
        const session = new ServerSession(stream, { methods, onFault, check: check?.ofStream(stream) });
        const ended = serveCalls(stream, session).finally(() => this.#sessions.delete(session));
        this.#sessions.set(session, ended);
        if (this.#isStopping) session.goAway();
      },
    });
    this.#listener = this.#createListener(options).on('connection', (connection: Socket) => {
      this.#connections.add(connection);
      connection.once('close', () => this.#connections.delete(connection));
    });
  }

  /** The port that it listens on; 0 for a socket. */
  get port(): number {
    const address = this.#listener.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** What the health service answers from now on. */
  setServing(serving: boolean): void {
    this.#health.setStatus('', serving ? 'SERVING' : 'NOT_SERVING');
  }

  /**
   * Takes no new calls, lets running ones end, and cuts what is left after `graceMs`. Connections are closed after the streams on
   * them: grpc-js can't ask for a sign of life on a connection that is closing, takes it for dead, and cuts what runs there.
   */
  async stop(graceMs: number): Promise<void> {
    this.setServing(false);
    this.#isStopping = true;
    const closed = once(this.#listener.close(), 'close');
    for (const session of this.#sessions.keys()) session.goAway();
    const force = setTimeout(() => {
      for (const connection of this.#connections) connection.destroy();
    }, graceMs);
    await Promise.race([Promise.all(this.#sessions.values()), closed]);
    this.#server.tryShutdown(() => undefined);
    await closed;
    clearTimeout(force);
  }

  /** Listening is not left to grpc-js, which does not say why a handshake failed, and can't end it without closing connections. */
  #createListener({ tls, onRefused }: GrpcServerOptions): Listener {
    const injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    if (tls === undefined) return createServer((socket) => injector.injectConnection(socket));
    const refuse = (socket: TLSSocket, problem: string) => {
      onRefused?.({ address: addressOf(socket), problem });
      socket.destroy();
    };
    // With `rejectUnauthorized` Node would not say why either. Nothing is read of a connection that is not authorized.
    const options = {
      ...tls.certificates,
      ...{ requestCert: true, rejectUnauthorized: false, ALPNProtocols: ['h2'], handshakeTimeout: 10_000 },
    };
    const listener = createTlsServer(options, (socket) => {
      // A connection that breaks ends its session, which says so to its calls.
      socket.on('error', () => undefined);
      // One whose handshake ends after the listener was closed would be cut off with its first calls.
      if (this.#isStopping) socket.destroy();
      else if (socket.authorized) injector.injectConnection(socket);
      else refuse(socket, problemOf(socket));
    });
    listener.on('tlsClientError', ({ message }, socket) => refuse(socket, message));
    tls.onChange((certificates) => listener.setSecureContext(certificates));
    return listener;
  }
}

/** Why a peer's certificate is not taken. */
function problemOf(socket: TLSSocket): string {
  const isMissing = socket.getPeerX509Certificate() === undefined;
  return isMissing ? 'it has no certificate' : `its certificate is not valid: ${socket.authorizationError}`;
}

function addressOf({ remoteAddress, remotePort }: TLSSocket): string | undefined {
  return remoteAddress && `${remoteAddress}:${remotePort}`;
}

type MultiplexedStream = ServerDuplexStream<OpenRequest, OpenResponse>;

/** The calls of another process of the gateway, which share one stream. */
async function serveCalls(stream: MultiplexedStream, session: ServerSession): Promise<void> {
  // The stream may look as if its client had ended it.
  stream.once('cancelled', () => session.cancel());
  // The client waits for it: from now on calls can be made.
  stream.sendMetadata(new Metadata());
  try {
    await session.serve(stream.iterator({ destroyOnReturn: false }));
  } catch (thrown) {
    // Where the stream is lost this has no effect. The calls on it have been cancelled.
    if (!stream.cancelled) stream.emit('error', toServiceError(thrown));
  }
}

function implement({ service, handlers }: ServiceRoute, onFault: OnFault | undefined): UntypedServiceImplementation {
  const methods = service.methods.map((method) => [
    method.localName,
    implementMethod(method, handlerOf(method, handlers), onFault),
  ]);
  return Object.fromEntries(methods);
}

function implementMethod(method: DescMethod, handler: MethodHandler, onFault: OnFault | undefined) {
  const fail = (thrown: unknown, request?: object) => {
    if (isFault(thrown)) onFault?.(method.toString(), thrown, requestIdOf(request));
    return toServiceError(thrown);
  };
  if (handler.answersOnce) {
    return (call: SingleAnswerCall, callback: sendUnaryData<object>) =>
      answerOnce(call, callback, handler.handle, fail);
  }
  return (call: StreamedAnswerCall) => answerMany(call, handler.handle, fail);
}

type SingleAnswerCall = ServerUnaryCall<object, object> | ServerReadableStream<object, object>;
type StreamedAnswerCall = ServerWritableStream<object, object> | ServerDuplexStream<object, object>;
type Fail = (thrown: unknown, request?: object) => ReturnType<typeof toServiceError>;

async function answerOnce(
  call: SingleAnswerCall,
  callback: sendUnaryData<object>,
  handle: SingleHandler,
  fail: Fail,
): Promise<void> {
  using scope = scopeOf(call);
  const request = requestOf(call);
  try {
    callback(null, await handle(request, scope));
  } catch (thrown) {
    callback(fail(thrown, request));
  }
}

async function answerMany(call: StreamedAnswerCall, handle: StreamHandler, fail: Fail): Promise<void> {
  using scope = scopeOf(call);
  const request = requestOf(call);
  try {
    for await (const response of handle(request, scope)) {
      if (scope.signal.aborted) return;
      if (!call.write(response)) await once(call, 'drain', { signal: scope.signal });
    }
    call.end();
  } catch (thrown) {
    if (!scope.signal.aborted) call.emit('error', fail(thrown, request));
  }
}

/** The caller's message, or its messages: having read the last one must not close the side on which answers go out. */
function requestOf(call: SingleAnswerCall | StreamedAnswerCall): object {
  return 'request' in call ? call.request : call.iterator({ destroyOnReturn: false });
}

/** grpc-js reports a call's deadline and cancellation as one event. */
function scopeOf(call: SingleAnswerCall | StreamedAnswerCall): CallScope {
  const scope = new CallScope();
  const emitter: EventEmitter = call;
  if (call.cancelled) scope.cancel();
  else emitter.once('cancelled', scope.cancel);
  return scope;
}

/** A failure of a handler as gRPC knows it: a status, a text for people, and the detail in a trailer. */
function toServiceError(thrown: unknown) {
  const { status, message, detail } = toCallFailure(thrown);
  const metadata = new Metadata();
  if (detail !== undefined) metadata.set(errorDetailTrailer, Buffer.from(detail));
  return { code: status, details: message, metadata };
}
