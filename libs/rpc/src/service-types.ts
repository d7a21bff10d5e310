import type { DescMethod, DescService, MessageInitShape, MessageShape } from '@bufbuild/protobuf';

/** What a handler knows about its call. */
export interface CallContext {
  /**
   * Aborted when the caller cancels or disconnects, when the deadline passes, and when the call has
   * ended.
   */
  readonly signal: AbortSignal;
  /**
   * The services that the caller's certificate stands for; empty without a certificate, or when it
   * has no such names. Undefined for calls from the gateway's own processes that need no
   * certificate: calls within this process, and, without TLS, calls on a shared stream.
   */
  readonly caller?: Caller | undefined;
}

/** Names of services, as `serviceNamesIn` gives them. */
export type Caller = readonly string[];

/** What a server knows about a call that it answers. */
export interface ServedCallOptions extends CallOptions, Pick<CallContext, 'caller'> {}

/** Options that a caller may set. */
export interface CallOptions {
  /** Aborting it cancels the call and aborts the handler's signal. */
  readonly signal?: AbortSignal;
  /**
   * After this time the call fails with `deadline_exceeded`. A stream without it runs until it
   * ends.
   */
  readonly timeoutMs?: number | undefined;
}

type Input<M extends DescMethod> = MessageShape<M['input']>;
type InputInit<M extends DescMethod> = MessageInitShape<M['input']>;
type Output<M extends DescMethod> = MessageShape<M['output']>;
type OutputInit<M extends DescMethod> = MessageInitShape<M['output']>;

type Handler<M extends DescMethod> = M['methodKind'] extends 'unary'
  ? (request: Input<M>, context: CallContext) => Promise<OutputInit<M>> | OutputInit<M>
  : M['methodKind'] extends 'server_streaming'
    ? (request: Input<M>, context: CallContext) => AsyncIterable<OutputInit<M>>
    : M['methodKind'] extends 'client_streaming'
      ? (requests: AsyncIterable<Input<M>>, context: CallContext) => Promise<OutputInit<M>>
      : (requests: AsyncIterable<Input<M>>, context: CallContext) => AsyncIterable<OutputInit<M>>;

type Call<M extends DescMethod> = M['methodKind'] extends 'unary'
  ? (request: InputInit<M>, options?: CallOptions) => Promise<Output<M>>
  : M['methodKind'] extends 'server_streaming'
    ? (request: InputInit<M>, options?: CallOptions) => AsyncIterable<Output<M>>
    : M['methodKind'] extends 'client_streaming'
      ? (requests: AsyncIterable<InputInit<M>>, options?: CallOptions) => Promise<Output<M>>
      : (requests: AsyncIterable<InputInit<M>>, options?: CallOptions) => AsyncIterable<Output<M>>;

/** One handler per RPC of a service. Handlers throw GatewayError. */
export type Handlers<S extends DescService> = { readonly [K in keyof S['method']]: Handler<S['method'][K]> };

/**
 * A typed client of a service, in process or over a network. A stream starts with the first
 * `next()`. Leaving the loop ends it at once, and so does `return()` while a `next()` is pending.
 */
export type Client<S extends DescService> = { readonly [K in keyof S['method']]: Call<S['method'][K]> };

/** A service with its handlers, ready to be served over gRPC or called directly. */
export interface ServiceRoute<S extends DescService = DescService> {
  readonly service: S;
  readonly handlers: UntypedHandlers;
}

/** Handlers whose service is known only at run time. The descriptor gives the kind of each one. */
export type UntypedHandlers = Readonly<Record<string, UntypedHandler>>;

/**
 * Written as a method, because its caller takes the request's type from the descriptor, which
 * TypeScript can't follow.
 */
export type UntypedHandler = { handle(request: object, context: CallContext): object }['handle'];

/** Pairs a service with its handlers, which the compiler checks against the contract. */
export function serviceRoute<S extends DescService>(service: S, handlers: Handlers<S>): ServiceRoute<S> {
  return { service, handlers };
}
