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
import { grpcDefinition } from './grpc-definition.ts';
import { serverChannelOptions } from './grpc-options.ts';
import { type MultiplexedStreams, serveMultiplexed } from './multiplex/serve-multiplexed.ts';
import { addReflection } from './reflection.ts';
import { RpcError } from './rpc-error.ts';
import type { CallContext, ServiceRoute, UntypedHandlers } from './service-types.ts';

export interface GrpcServerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly routes: readonly ServiceRoute[];
  /** Told of every failure that is a fault of ours. */
  readonly onFault?: (method: string, fault: unknown) => void;
}

/**
 * Serves routes over gRPC, with the standard health and reflection services. Our own processes may send many calls
 * over one long-lived stream instead; the handlers see no difference.
 */
export class GrpcServer {
  readonly port: number;
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
    const port = await bind(server, `${options.host}:${options.port}`);
    return new GrpcServer(server, health, streams, port);
  }

  private constructor(server: Server, health: HealthImplementation, streams: MultiplexedStreams, port: number) {
    this.#server = server;
    this.#health = health;
    this.#streams = streams;
    this.port = port;
  }

  /** What the health service answers from now on. */
  setServing(serving: boolean): void {
    this.#health.setStatus('', serving ? 'SERVING' : 'NOT_SERVING');
  }

  /** Takes no new calls, lets running ones end, and cuts what is left after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.setServing(false);
    this.#streams.goAway();
    await new Promise<void>((resolve) => {
      const force = setTimeout(() => this.#server.forceShutdown(), graceMs);
      this.#server.tryShutdown(() => {
        clearTimeout(force);
        resolve();
      });
    });
  }
}

function bind(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}

function implement(route: ServiceRoute, options: GrpcServerOptions): UntypedServiceImplementation {
  return Object.fromEntries(
    route.service.methods.map((method) => [method.localName, implementMethod(method, route.handlers, options)]),
  );
}

function implementMethod(method: DescMethod, handlers: UntypedHandlers, options: GrpcServerOptions) {
  // serviceRoute() had the compiler check each handler against the kind that the descriptor names.
  const handler = handlers[method.localName] as never;
  const fail = (thrown: unknown) => {
    const error = toServiceError(thrown);
    if (isFault(thrown)) options.onFault?.(method.toString(), thrown);
    return error;
  };
  switch (method.methodKind) {
    case 'unary':
      return (call: ServerUnaryCall<object, object>, callback: sendUnaryData<object>) =>
        answerOnce(call, callback, fail, (context) => (handler as SingleHandler)(call.request, context));
    case 'client_streaming':
      return (call: ServerReadableStream<object, object>, callback: sendUnaryData<object>) =>
        answerOnce(call, callback, fail, (context) => (handler as SingleHandler)(requestsOf(call), context));
    case 'server_streaming':
      return (call: ServerWritableStream<object, object>) =>
        answerMany(call, fail, (context) => (handler as StreamHandler)(call.request, context));
    case 'bidi_streaming':
      return (call: ServerDuplexStream<object, object>) =>
        answerMany(call, fail, (context) => (handler as StreamHandler)(requestsOf(call), context));
  }
}

/** The caller's messages. Having read the last one must not close the side on which the answers go out. */
function requestsOf(call: ServerReadableStream<object, object> | ServerDuplexStream<object, object>) {
  return call.iterator({ destroyOnReturn: false });
}

type SingleHandler = (request: object, context: CallContext) => Promise<object>;
type StreamHandler = (request: object, context: CallContext) => AsyncIterable<object>;
type Fail = (thrown: unknown) => ReturnType<typeof toServiceError>;

async function answerOnce(
  call: ServerUnaryCall<object, object> | ServerReadableStream<object, object>,
  callback: sendUnaryData<object>,
  fail: Fail,
  handle: (context: CallContext) => Promise<object>,
): Promise<void> {
  const controller = cancelledWith(call);
  try {
    callback(null, await handle({ signal: controller.signal }));
  } catch (thrown) {
    callback(fail(thrown));
  } finally {
    controller.abort(new RpcError('cancelled', 'The call has ended.'));
  }
}

async function answerMany(
  call: ServerWritableStream<object, object> | ServerDuplexStream<object, object>,
  fail: Fail,
  handle: (context: CallContext) => AsyncIterable<object>,
): Promise<void> {
  const controller = cancelledWith(call);
  try {
    for await (const response of handle({ signal: controller.signal })) {
      if (call.cancelled) return;
      if (!call.write(response)) await drainedOrCancelled(call);
    }
    call.end();
  } catch (thrown) {
    if (!call.cancelled) call.emit('error', fail(thrown));
  } finally {
    controller.abort(new RpcError('cancelled', 'The call has ended.'));
  }
}

interface CancellableCall {
  readonly cancelled: boolean;
  on(event: 'cancelled' | 'error', listener: () => void): unknown;
}

function cancelledWith(call: CancellableCall): AbortController {
  const controller = new AbortController();
  const cancel = () => controller.abort(new RpcError('cancelled', 'The caller cancelled the call.'));
  if (call.cancelled) cancel();
  call.on('cancelled', cancel);
  return controller;
}

function drainedOrCancelled(call: ServerWritableStream<object, object> | ServerDuplexStream<object, object>) {
  return new Promise<void>((resolve) => {
    const done = () => {
      call.off('drain', done).off('cancelled', done);
      resolve();
    };
    call.on('drain', done).on('cancelled', done);
  });
}

/** Errors of the public table are answers; anything else is a fault of ours. */
function isFault(thrown: unknown): boolean {
  return !(thrown instanceof RpcError) && (toServiceError(thrown).code ?? 0) === 13;
}
