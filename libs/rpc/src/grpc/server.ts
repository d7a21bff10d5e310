import { type EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
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
  readonly #sessions = new Set<ServerSession>();
  #tlsListener: TlsServer | undefined;
  #port = 0;

  /** @throws an error with `code: 'EADDRINUSE'` and the like, as Node's servers do. */
  static async listen(options: GrpcServerOptions): Promise<GrpcServer> {
    const server = new GrpcServer(options);
    const { tls } = options;
    server.#port = tls === undefined ? await bound(server.#server, options) : await server.#listenTls(tls, options);
    return server;
  }

  private constructor({ routes, onFault, tls, onRefused }: GrpcServerOptions) {
    const check = tls && new CallerCheck(onRefused);
    this.#server = new Server({ ...serverOptions, interceptors: check === undefined ? [] : [check.interceptor] });
    this.#health.addToServer(this.#server);
    const services = routes.map(({ service }) => service);
    addReflection(this.#server, services);
    for (const route of routes) this.#server.addService(grpcDefinition(route.service), implement(route, onFault));
    const methods = servedMethods(routes);
    this.#server.addService(grpcDefinition(MultiplexService), {
      open: (stream: MultiplexedStream) =>
        serveCalls(
          stream,
          new ServerSession(stream, { methods, onFault, check: check?.ofStream(stream) }),
          this.#sessions,
        ),
    });
  }

  get port(): number {
    return this.#port;
  }

  /** What the health service answers from now on. */
  setServing(serving: boolean): void {
    this.#health.setStatus('', serving ? 'SERVING' : 'NOT_SERVING');
  }

  /** Takes no new calls, lets running ones end, and cuts what is left after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.setServing(false);
    this.#tlsListener?.close();
    for (const session of this.#sessions) session.goAway();
    const force = setTimeout(() => this.#server.forceShutdown(), graceMs);
    await new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    clearTimeout(force);
  }

  /** Handshakes are not left to grpc-js, which does not say why one failed. */
  async #listenTls(tls: Tls, { host, port, onRefused }: GrpcServerOptions): Promise<number> {
    const injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    const refuse = (socket: TLSSocket, problem: string) => {
      onRefused?.({ address: addressOf(socket), problem });
      socket.destroy();
    };
    // With `rejectUnauthorized` Node would not say why either. Nothing is read of a connection that is not authorized.
    const options = {
      ...tls.certificates,
      ...{ requestCert: true, rejectUnauthorized: false, ALPNProtocols: ['h2'], handshakeTimeout: 10_000 },
    };
    const listener = createServer(options, (socket) => {
      // A connection that breaks ends its session, which says so to its calls.
      socket.on('error', () => undefined);
      if (socket.authorized) injector.injectConnection(socket);
      else refuse(socket, problemOf(socket));
    });
    listener.on('tlsClientError', ({ message }, socket) => refuse(socket, message));
    tls.onChange((certificates) => listener.setSecureContext(certificates));
    this.#tlsListener = listener;
    await once(listener.listen(port, host), 'listening');
    return (listener.address() as AddressInfo).port;
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

/** The port that the server listens on; 0 for a socket. */
async function bound(server: Server, { host, port }: GrpcServerOptions) {
  const address = host.startsWith('unix:') ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, boundPort) => {
      if (error === null) resolve(host.startsWith('unix:') ? 0 : boundPort);
      else reject(bindError(error, { address: host, port }));
    });
  });
}

/** grpc-js puts the reason into its text only. */
function bindError(error: Error, where: { readonly address: string; readonly port: number }): Error {
  const code = /\bE[A-Z]{4,}\b/.exec(error.message)?.[0];
  return Object.assign(new Error(error.message, { cause: error }), { code, syscall: 'listen', ...where });
}

type MultiplexedStream = ServerDuplexStream<OpenRequest, OpenResponse>;

/** The calls of another process of the gateway, which share one stream. */
async function serveCalls(
  stream: MultiplexedStream,
  session: ServerSession,
  sessions: Set<ServerSession>,
): Promise<void> {
  sessions.add(session);
  // The stream may look as if its client had ended it.
  stream.once('cancelled', () => session.cancel());
  // The client waits for it: from now on calls can be made.
  stream.sendMetadata(new Metadata());
  try {
    await session.serve(stream.iterator({ destroyOnReturn: false }));
  } catch (thrown) {
    // Where the stream is lost this has no effect. The calls on it have been cancelled.
    if (!stream.cancelled) stream.emit('error', toServiceError(thrown));
  } finally {
    sessions.delete(session);
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
