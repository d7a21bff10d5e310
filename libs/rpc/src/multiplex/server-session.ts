import { type DescMethod, fromBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import type { Frame, OpenRequest, Start } from '@gateway/proto/rpc/v2/multiplex_service_pb.js';
import { type OnFault, RpcError, toCallFailure } from '../errors.ts';
import { CallObserver } from '../observed-calls.ts';
import { answerAll, answerOnce, answersOnce, encoded, mapped, type ServedMethod } from '../served-methods.ts';
import type { Caller, ServedCallOptions } from '../service-types.ts';
import { UnaryCall } from '../unary-call.ts';
import { type BatchStream, BatchWriter } from './batch-writer.ts';
import { CallMessages, type Content, frameOf } from './call-messages.ts';

export interface ServerSessionOptions {
  readonly methods: ReadonlyMap<string, ServedMethod>;
  /** Throws when the caller may not call the path. */
  readonly check?: (path: string) => void;
  /** Identifies to handlers who makes the calls on this stream. */
  readonly caller?: Caller | undefined;
  readonly onFault?: OnFault | undefined;
  readonly observer?: CallObserver;
}

interface ServerCall {
  /** Undefined for a unary call, which takes no further messages. */
  readonly messages?: CallMessages;
  readonly call: { cancel(): void };
  /** Never rejects. */
  readonly ended: Promise<void>;
}

/** The calls of one client, all on one stream. */
export class ServerSession {
  readonly #options: ServerSessionOptions;
  readonly #observer: CallObserver;
  readonly #writer: BatchWriter;
  readonly #calls = new Map<number, ServerCall>();
  #lastCallId = 0;

  constructor(stream: BatchStream, options: ServerSessionOptions) {
    this.#options = options;
    this.#observer = options.observer ?? new CallObserver('server');
    this.#writer = new BatchWriter(stream);
  }

  /**
   * Serves calls until the client ends the stream and its calls have ended. Rejects when the stream
   * is lost or the client violates the protocol.
   */
  async serve(batches: AsyncIterable<Pick<OpenRequest, 'frames'>>): Promise<void> {
    try {
      for await (const { frames } of batches) for (const frame of frames) this.#onFrame(frame);
      await Promise.all([...this.#calls.values()].map(({ ended }) => ended));
      this.#writer.end();
    } finally {
      this.cancel();
    }
  }

  /** Called when the client is gone: aborts the signals of its calls' handlers. */
  cancel(): void {
    for (const { call } of this.#calls.values()) call.cancel();
  }

  /**
   * Asks the client to start no further calls here, and to end the stream when its running calls
   * end.
   */
  goAway(): void {
    this.#writer.send(frameOf(0, { case: 'goAway', value: { $typeName: 'gateway.rpc.v2.GoAway' } }));
  }

  #onFrame(frame: Frame): void {
    const { callId: id, content } = frame;
    const open = this.#calls.get(id);
    if (content.case === 'start') this.#start(id, content.value);
    else if (content.case === 'cancel') open?.call.cancel();
    else if (open?.messages?.onFrame(frame) === false)
      throw new RpcError('internal', 'The client exceeded its flow-control window.');
  }

  #start(id: number, start: Start): void {
    if (id <= this.#lastCallId) throw new RpcError('internal', 'The id of a call was used twice.');
    this.#lastCallId = id;
    const served = this.#options.methods.get(start.path);
    if (served === undefined) {
      const message = `The server does not implement the method ${start.path}`;
      const failure = { $typeName: 'gateway.rpc.v2.Failure', status: Code.Unimplemented, message } as const;
      return this.#send(id, { case: 'failure', value: failure });
    }
    try {
      this.#options.check?.(start.path);
      const isUnary = served.method.methodKind === 'unary' && start.request !== undefined;
      const open = isUnary ? this.#answerOnce(id, served, start) : this.#answerAll(id, served, start);
      this.#calls.set(id, open);
    } catch (thrown) {
      this.#send(id, { case: 'failure', value: toCallFailure(thrown) });
    }
  }

  #answerOnce(id: number, served: ServedMethod, { request = nothing, timeoutMs, traceparent }: Start): ServerCall {
    const { method } = served;
    const { onFault } = this.#options;
    const input = fromBinary(method.input, request);
    const call = new UnaryCall<Uint8Array>(this.#optionsOf(timeoutMs));
    const answer = () => call.run((context) => answerOnce(served, input, context, { onFault, toResponse: encoded }));
    const ended = this.#observer.observeOnce(method, answer, traceparent).then(
      (response) => this.#end(id, { case: 'message', value: response }),
      (thrown) => this.#end(id, { case: 'failure', value: toCallFailure(thrown) }),
    );
    return { call, ended };
  }

  #answerAll(id: number, served: ServedMethod, { request, timeoutMs, traceparent }: Start): ServerCall {
    const { method } = served;
    const { onFault } = this.#options;
    const messages = new CallMessages(id, this.#writer);
    const input = mapped<Uint8Array, object>(request ?? messages, (bytes) => fromBinary(method.input, bytes));
    const call = answerAll(served, input, this.#optionsOf(timeoutMs), { onFault, toResponse: encoded });
    const observed = this.#observer.observe(method, call, traceparent);
    call.signal.addEventListener('abort', () => messages.close(call.signal.reason), { once: true });
    const ended = sendAnswers(observed, messages, method).finally(() => this.#calls.delete(id));
    return { messages, call, ended };
  }

  /** On the wire 0 means no deadline. */
  #optionsOf(timeoutMs: number): ServedCallOptions {
    return { timeoutMs: timeoutMs === 0 ? undefined : timeoutMs, caller: this.#options.caller };
  }

  /** Sends the last frame of a call. */
  #end(id: number, content: Content): void {
    this.#calls.delete(id);
    this.#send(id, content);
  }

  #send(id: number, content: Content): void {
    this.#writer.send(frameOf(id, content, content.case === 'message'));
  }
}

/** The serialised form of a message without fields. */
const nothing = new Uint8Array();

/** Never rejects. */
async function sendAnswers(call: AsyncIterable<Uint8Array>, messages: CallMessages, method: DescMethod): Promise<void> {
  const isOnly = answersOnce(method);
  try {
    for await (const response of call) await messages.sendMessage(response, isOnly);
    if (!isOnly) messages.sendEnd();
  } catch (thrown) {
    messages.send({ case: 'failure', value: toCallFailure(thrown) });
  }
}
