import { fromBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import type { Frame, OpenRequest, Start } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import { CallScope } from '../call-scope.ts';
import { isFault, type OnFault, RpcError, requestIdOf, toCallFailure } from '../errors.ts';
import { encoded, mapped, type ServedMethod } from '../methods.ts';
import { type BatchStream, BatchWriter } from './batch-writer.ts';
import { CallMessages, frameOf } from './call-messages.ts';

export interface ServerSessionOptions {
  readonly methods: ReadonlyMap<string, ServedMethod>;
  /** Throws when the caller may not call a path. */
  readonly check?: ((path: string) => void) | undefined;
  readonly onFault?: OnFault | undefined;
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
    for (const { scope } of this.#calls.values()) scope.cancel();
  }

  /** Asks the client to start no more calls here, and to end the stream with the calls that run. */
  goAway(): void {
    this.#writer.send(frameOf(0, { case: 'goAway', value: {} }));
  }

  #onFrame(frame: Frame): void {
    const { callId, content } = frame;
    if (content.case === 'start') return this.#start(callId, content.value);
    const call = this.#calls.get(callId);
    if (content.case === 'cancel') call?.scope.cancel();
    else if (call?.messages.onFrame(frame) === false)
      throw new RpcError('internal', 'The client sent more than it may.');
  }

  #start(id: number, { path, timeoutMs, request }: Start): void {
    if (id <= this.#lastCallId) throw new RpcError('internal', 'An id of a call was used twice.');
    this.#lastCallId = id;
    const messages = new CallMessages(id, this.#writer);
    const { methods, check, onFault } = this.#options;
    const served = methods.get(path);
    if (served === undefined) {
      const message = `The server does not implement the method ${path}`;
      return messages.send({ case: 'failure', value: { status: Code.Unimplemented, message } });
    }
    try {
      check?.(path);
    } catch (thrown) {
      return messages.send({ case: 'failure', value: toCallFailure(thrown) });
    }
    const scope = new CallScope({ timeoutMs: timeoutMs === 0 ? undefined : timeoutMs });
    scope.signal.addEventListener('abort', () => messages.close(scope.signal.reason), { once: true });
    const ended = answer(served, request, messages, scope, onFault).finally(() => this.#calls.delete(id));
    this.#calls.set(id, { messages, scope, ended });
  }
}

interface ServerCall {
  readonly messages: CallMessages;
  readonly scope: CallScope;
  readonly ended: Promise<void>;
}

/** Calls the handler and sends what it answers. Never rejects. `request`: the only one of a method that takes one. */
async function answer(
  { method, handler }: ServedMethod,
  request: Uint8Array | undefined,
  messages: CallMessages,
  callScope: CallScope,
  onFault: OnFault | undefined,
): Promise<void> {
  using scope = callScope;
  const decode = (bytes: Uint8Array): object => fromBinary(method.input, bytes);
  const encode = (response: object) => encoded(method.output, response);
  let input: object | undefined;
  try {
    input = request === undefined ? mapped(messages, decode) : decode(request);
    if (handler.answersOnce) {
      const response = await scope.race(Promise.resolve(handler.handle(input, scope)));
      messages.send({ case: 'message', value: encode(response) }, true);
    } else {
      await messages.sendAll(mapped(handler.handle(input, scope), encode));
    }
  } catch (thrown) {
    if (isFault(thrown)) onFault?.(method.toString(), thrown, requestIdOf(input));
    messages.send({ case: 'failure', value: toCallFailure(thrown) });
  }
}
