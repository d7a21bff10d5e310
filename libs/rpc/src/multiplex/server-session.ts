import { type DescMethod, fromBinary } from '@bufbuild/protobuf';
import type { Frame, OpenRequest, Start } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import { CallScope } from '../call-scope.ts';
import { isFault, type OnFault, RpcError, requestIdOf, statusNumber, toCallFailure } from '../errors.ts';
import { encoded, handlerOf, type MethodHandler, mapped, pathOf } from '../methods.ts';
import type { ServiceRoute } from '../service-types.ts';
import { type BatchStream, BatchWriter } from './batch-writer.ts';
import { CallMessages, frameOf } from './call-messages.ts';

export interface ServedMethod {
  readonly method: DescMethod;
  readonly handler: MethodHandler;
}

/** The methods of routes, by their paths. */
export function servedMethods(routes: readonly ServiceRoute[]): ReadonlyMap<string, ServedMethod> {
  const methods = routes.flatMap(({ service, handlers }) =>
    service.methods.map((method) => ({ method, handler: handlerOf(method, handlers) })),
  );
  return new Map(methods.map((served) => [pathOf(served.method), served]));
}

export interface ServerSessionOptions {
  readonly methods: ReadonlyMap<string, ServedMethod>;
  readonly onFault?: OnFault | undefined;
}

/** The calls of one client, all on one stream. */
export class ServerSession {
  readonly #options: ServerSessionOptions;
  readonly #writer: BatchWriter;
  readonly #calls = new Map<number, ServerCall>();
  readonly #running = new Set<Promise<void>>();
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
      await Promise.all(this.#running);
      this.#writer.end();
    } finally {
      // Their handlers end by their signals.
      for (const call of this.#calls.values()) call.cancel();
    }
  }

  /** Asks the client to start no more calls here, and to end the stream with the calls that run. */
  goAway(): void {
    this.#writer.send(frameOf(0, { case: 'goAway', value: {} }));
  }

  #onFrame(frame: Frame): void {
    if (frame.content.case === 'start') this.#start(frame.callId, frame.content.value);
    else this.#calls.get(frame.callId)?.onFrame(frame);
  }

  #start(id: number, { path, timeoutMs, request }: Start): void {
    if (id <= this.#lastCallId) throw new RpcError('internal', 'An id of a call was used twice.');
    this.#lastCallId = id;
    const messages = new CallMessages(id, this.#writer);
    const served = this.#options.methods.get(path);
    if (served === undefined) {
      const message = `The server does not implement the method ${path}`;
      return messages.send({ case: 'failure', value: { status: statusNumber.UNIMPLEMENTED, message } });
    }
    const call = new ServerCall(served, messages, timeoutMs);
    this.#calls.set(id, call);
    const running = call.run(request, this.#options.onFault).finally(() => {
      this.#calls.delete(id);
      this.#running.delete(running);
    });
    this.#running.add(running);
  }
}

/** One call from the side of its handler. */
class ServerCall {
  readonly #served: ServedMethod;
  readonly #messages: CallMessages;
  readonly #scope: CallScope;

  constructor(served: ServedMethod, messages: CallMessages, timeoutMs: number) {
    this.#served = served;
    this.#messages = messages;
    this.#scope = new CallScope({ timeoutMs: timeoutMs === 0 ? undefined : timeoutMs });
    const { signal } = this.#scope;
    signal.addEventListener('abort', () => messages.close(signal.reason), { once: true });
  }

  onFrame(frame: Frame): void {
    if (frame.content.case === 'cancel') return this.cancel();
    if (!this.#messages.onFrame(frame)) throw new RpcError('internal', 'The client sent more than it may.');
  }

  /** The caller gave up, or is gone. */
  cancel(): void {
    this.#scope.cancel();
  }

  /** Calls the handler and sends what it answers. Never rejects. */
  async run(request: Uint8Array | undefined, onFault: OnFault | undefined): Promise<void> {
    using scope = this.#scope;
    const { method, handler } = this.#served;
    const decode = (bytes: Uint8Array): object => fromBinary(method.input, bytes);
    const encode = (response: object) => encoded(method.output, response);
    let input: object | undefined;
    try {
      input = request === undefined ? mapped(this.#messages, decode) : decode(request);
      if (handler.answersOnce) {
        const response = await scope.race(Promise.resolve(handler.handle(input, scope)));
        this.#messages.send({ case: 'message', value: encode(response) }, true);
      } else {
        await this.#messages.sendAll(mapped(handler.handle(input, scope), encode));
      }
    } catch (thrown) {
      if (isFault(thrown)) onFault?.(method.toString(), thrown, requestIdOf(input));
      this.#messages.send({ case: 'failure', value: toCallFailure(thrown) });
    }
  }
}
