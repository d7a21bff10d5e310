import type { DescMethod } from '@bufbuild/protobuf';
import {
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
import { toServiceError } from './error-metadata.ts';
import { isFault, type OnFault, requestIdOf } from './faults.ts';
import { grpcDefinition } from './grpc-definition.ts';
import { serverChannelOptions } from './grpc-options.ts';
import { GrpcPort } from './grpc-port.ts';
import { callCancelled, callEnded, HandlerContext } from './handler-context.ts';
import { handlerOf, type SingleHandler, type StreamHandler } from './handler-of.ts';
import { type MultiplexedStreams, serveMultiplexed } from './multiplex/serve-multiplexed.ts';
import { addReflection } from './reflection.ts';
import type { ServiceRoute, UntypedHandlers } from './service-types.ts';

export interface GrpcServerOptions {
  /** A host; or `unix:/path` of a socket, which only those reach who may enter its folder. */
  readonly host: string;
  /** 0 picks a free port. A socket has none. */
  readonly port: number;
  readonly routes: readonly ServiceRoute[];
  readonly onFault?: OnFault;
}

/**
 * Serves routes over gRPC, with the standard health and reflection services. Our own processes may send many calls
 * over one long-lived stream instead; the handlers see no difference.
 */
export class GrpcServer {
  readonly #port: GrpcPort;
  readonly #server: Server;
  readonly #health: HealthImplementation;
  readonly #streams: MultiplexedStreams;

  static async listen(options: GrpcServerOptions): Promise<GrpcServer> {
    const server = new Server(serverChannelOptions);
    const health = new HealthImplementation({ '': 'NOT_SERVING' });
    health.addToServer(server);
    addReflection(
      server,
      options.routes.map((route) => route.service),
    );
    for (const route of options.routes) server.addService(grpcDefinition(route.service), implement(route, options));
    const streams = serveMultiplexed(server, options);
    const grpc = server.createConnectionInjector(ServerCredentials.createInsecure());
    const port = await GrpcPort.listen({
      ...options,
      onStreamOfCalls: (socket, opening) => streams.serve(socket, opening),
      onGrpc: (socket) => grpc.injectConnection(socket),
    });
    return new GrpcServer(server, health, streams, port);
  }

  private constructor(server: Server, health: HealthImplementation, streams: MultiplexedStreams, port: GrpcPort) {
    this.#server = server;
    this.#health = health;
    this.#streams = streams;
    this.#port = port;
  }

  get port(): number {
    return this.#port.port;
  }

  /** What the health service answers from now on. */
  setServing(serving: boolean): void {
    this.#health.setStatus('', serving ? 'SERVING' : 'NOT_SERVING');
  }

  /** Takes no new calls, lets running ones end, and cuts what is left after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.setServing(false);
    this.#streams.goAway();
    const force = setTimeout(() => this.#cut(), graceMs);
    const shutDown = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    await Promise.all([this.#port.close(), shutDown]);
    clearTimeout(force);
  }

  #cut(): void {
    this.#server.forceShutdown();
    this.#port.cut();
  }
}

function implement(route: ServiceRoute, options: GrpcServerOptions): UntypedServiceImplementation {
  return Object.fromEntries(
    route.service.methods.map((method) => [method.localName, implementMethod(method, route.handlers, options)]),
  );
}

function implementMethod(method: DescMethod, handlers: UntypedHandlers, options: GrpcServerOptions) {
  const fail = (thrown: unknown, request?: object) => {
    if (isFault(thrown)) options.onFault?.(method.toString(), thrown, requestIdOf(request));
    return toServiceError(thrown);
  };
  const handler = handlerOf(method, handlers);
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
  const context = contextOf(call);
  const request = requestOf(call);
  try {
    callback(null, await handle(request, context));
  } catch (thrown) {
    callback(fail(thrown, request));
  } finally {
    context.abort(callEnded);
  }
}

async function answerMany(call: StreamedAnswerCall, handle: StreamHandler, fail: Fail): Promise<void> {
  const context = contextOf(call);
  const request = requestOf(call);
  try {
    for await (const response of handle(request, context)) {
      if (call.cancelled) return;
      if (!call.write(response)) await drainedOrCancelled(call);
    }
    call.end();
  } catch (thrown) {
    if (!call.cancelled) call.emit('error', fail(thrown, request));
  } finally {
    context.abort(callEnded);
  }
}

/** The caller's message, or its messages: having read the last one must not close the side on which answers go out. */
function requestOf(call: SingleAnswerCall | StreamedAnswerCall): object {
  return 'request' in call ? call.request : call.iterator({ destroyOnReturn: false });
}

interface CancellableCall {
  readonly cancelled: boolean;
  on(event: 'cancelled', listener: () => void): unknown;
}

function contextOf(call: CancellableCall): HandlerContext {
  const context = new HandlerContext();
  const cancel = () => context.abort(callCancelled);
  if (call.cancelled) cancel();
  call.on('cancelled', cancel);
  return context;
}

function drainedOrCancelled(call: StreamedAnswerCall) {
  return new Promise<void>((resolve) => {
    const done = () => {
      call.off('drain', done).off('cancelled', done);
      resolve();
    };
    call.on('drain', done).on('cancelled', done);
  });
}
