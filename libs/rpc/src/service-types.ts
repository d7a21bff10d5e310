import type { DescMethod, DescService, MessageInitShape, MessageShape } from '@bufbuild/protobuf';

/** What a handler learns of its call. */
export interface CallContext {
  /** Aborted when the caller gives up, goes away, or its deadline passes, and when the call has ended. */
  readonly signal: AbortSignal;
  /**
   * The services that the caller's certificate speaks for; none when it has no certificate, or one without such names. Undefined for
   * calls of the gateway's own processes that need no certificate: those within this process, and, without TLS, those on a shared stream.
   */
  readonly caller?: Caller | undefined;
}

/** Names of services, as `serviceNamesIn` gives them. */
export type Caller = readonly string[];

/** What a server knows of a call that it answers. */
export interface ServedCallOptions extends CallOptions, Pick<CallContext, 'caller'> {}

/** What a caller may say of its call. */
export interface CallOptions {
  /** Aborting it cancels the call and the handler's signal. */
  readonly signal?: AbortSignal | undefined;
  /** The call fails with `deadline_exceeded` after so long. Streams without it run until they end. */
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
 * A typed client of a service, in process or over a network alike. A stream begins with the first
 * `next()`. Leaving the loop, or `return()` while a `next()` waits, ends it at once.
 */
export type Client<S extends DescService> = { readonly [K in keyof S['method']]: Call<S['method'][K]> };

/** A service with its handlers, ready to be served over gRPC or called directly. */
export interface ServiceRoute<S extends DescService = DescService> {
  readonly service: S;
  readonly handlers: UntypedHandlers;
}

/** Handlers once their service is known only at run time. The descriptor says which kind each one is. */
export type UntypedHandlers = Readonly<Record<string, UntypedHandler>>;

/** Written as a method: its caller has the request from the descriptor, which no type can follow any more. */
export type UntypedHandler = { handle(request: object, context: CallContext): object }['handle'];

/** Pairs a service with its handlers, which the compiler checks against the contract. */
export function serviceRoute<S extends DescService>(service: S, handlers: Handlers<S>): ServiceRoute<S> {
  return { service, handlers };
}
