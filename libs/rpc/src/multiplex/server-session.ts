import { type DescMethod, fromBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import type { Frame, OpenRequest, Start } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import type { Call } from '../call.ts';
import { type OnFault, RpcError, toCallFailure } from '../errors.ts';
import { answer, answersOnce, encoded, mapped, type ServedMethod } from '../methods.ts';
import { CallObserver } from '../observed-calls.ts';
import type { Caller } from '../service-types.ts';
import { type BatchStream, BatchWriter } from './batch-writer.ts';
import { CallMessages, frameOf } from './call-messages.ts';

export interface ServerSessionOptions {
  readonly methods: ReadonlyMap<string, ServedMethod>;
  /** Throws when the caller may not call a path. */
  readonly check?: ((path: string) => void) | undefined;
  /** Who makes the calls of this stream, for handlers. */
  readonly caller?: Caller | undefined;
  readonly onFault?: OnFault | undefined;
  readonly observer?: CallObserver;
}

interface ServerCall {
  readonly messages: CallMessages;
  readonly call: Call<Uint8Array>;
  readonly ended: Promise<void>;
}

/** The calls of one client, all on one stream. */
export class ServerSession {
  readonly #options: ServerSessionOptions;
  readonly #writer: BatchWriter;
  readonly #calls = new Map<number, ServerCall>();
  #lastCallId = 0;

  constructor(stream: BatchStream, options: ServerSessionOptions) {
    this.#options = options;
    this.#writer = new BatchWriter(stream);
  }

  /**
   * Serves calls until the client ends the stream and its calls have ended. Rejects when the stream is lost, or the client
   * does what it may not.
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

  /** The client is gone: the handlers of its calls end by their signals. */
  cancel(): void {
    for (const { call } of this.#calls.values()) call.cancel();
  }

  /** Asks the client to start no more calls here, and to end the stream with the calls that run. */
  goAway(): void {
    this.#writer.send(frameOf(0, { case: 'goAway', value: {} }));
  }

  #onFrame(frame: Frame): void {
    const { callId: id, content } = frame;
    const open = this.#calls.get(id);
    if (content.case === 'start') this.#start(id, content.value);
    else if (content.case === 'cancel') open?.call.cancel();
    else if (open?.messages.onFrame(frame) === false)
      throw new RpcError('internal', 'The client sent more than it may.');
  }

  #start(id: number, { path, timeoutMs, request, traceparent }: Start): void {
    if (id <= this.#lastCallId) throw new RpcError('internal', 'An id of a call was used twice.');
    this.#lastCallId = id;
    const messages = new CallMessages(id, this.#writer);
    const { methods, check, caller, onFault, observer = new CallObserver('server') } = this.#options;
    const served = methods.get(path);
    if (served === undefined) {
      const message = `The server does not implement the method ${path}`;
      return messages.send({ case: 'failure', value: { status: Code.Unimplemented, message } });
    }
    const { method } = served;
    try {
      check?.(path);
      const input = mapped<Uint8Array, object>(request ?? messages, (bytes) => fromBinary(method.input, bytes));
      const options = { timeoutMs: timeoutMs === 0 ? undefined : timeoutMs, caller };
      const call = answer(served, input, options, onFault, encoded);
      const observed = observer.observe(method, call, traceparent);
      if (method.methodKind !== 'unary') {
        // A unary call never waits for messages.
        call.signal.addEventListener('abort', () => messages.close(call.signal.reason), { once: true });
      }
      const ended = sendAnswer(observed, messages, method).finally(() => this.#calls.delete(id));
      this.#calls.set(id, { messages, call, ended });
    } catch (thrown) {
      messages.send({ case: 'failure', value: toCallFailure(thrown) });
    }
  }
}

/** Never rejects. */
async function sendAnswer(call: AsyncIterable<Uint8Array>, messages: CallMessages, method: DescMethod): Promise<void> {
  const isOnly = answersOnce(method);
  try {
    for await (const response of call) await messages.sendMessage(response, isOnly);
    if (!isOnly) messages.sendEnd();
  } catch (thrown) {
    messages.send({ case: 'failure', value: toCallFailure(thrown) });
  }
}
