import type { DescMethod, DescService } from '@bufbuild/protobuf';
import {
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientWritableStream,
  credentials,
  Client as GrpcJsClient,
  Metadata,
} from '@grpc/grpc-js';
import { allAtHand } from './at-hand.ts';
import { fromServiceError } from './error-metadata.ts';
import { grpcMethod } from './grpc-definition.ts';
import { clientChannelOptions } from './grpc-options.ts';
import { GrpcToldCall } from './grpc-told-call.ts';
import { callCancelled } from './handler-context.ts';
import type { CallOptions, Client } from './service-types.ts';
import type { Answers } from './told-answers.ts';

/** A service at an address. One connection per replica behind the name, calls spread over them. */
export interface GrpcChannel extends Disposable {
  client<S extends DescService>(service: S): Client<S>;
}

/** Opens a channel. `url` is `http://host:port`; the connection is made at the first call and remade when it breaks. */
export function openGrpcChannel(url: string): GrpcChannel {
  const channel = new GrpcJsClient(grpcTarget(url), credentials.createInsecure(), clientChannelOptions);
  return {
    client: (service) => clientOf(channel, service),
    [Symbol.dispose]: () => channel.close(),
  };
}

function grpcTarget(url: string): string {
  const { hostname, port } = new URL(url);
  return `dns:///${hostname}:${port || '80'}`;
}

function clientOf<S extends DescService>(channel: GrpcJsClient, service: S): Client<S> {
  const calls = service.methods.map((method) => [method.localName, callOf(channel, service, method)]);
  // Each entry follows the descriptor's kind, which is what Client<S> is derived from.
  return Object.fromEntries(calls) as Client<S>;
}

function callOf(channel: GrpcJsClient, service: DescService, method: DescMethod) {
  const definition = grpcMethod(service, method);
  const { path, requestSerialize, responseDeserialize } = definition;
  const metadata = new Metadata();
  switch (method.methodKind) {
    case 'unary':
      return (request: object, options: CallOptions = {}) =>
        settled(options, (callback) =>
          channel.makeUnaryRequest(
            path,
            requestSerialize,
            responseDeserialize,
            request,
            metadata,
            deadline(options),
            callback,
          ),
        );
    case 'server_streaming':
      return (request: object, options: CallOptions = {}) =>
        responses(options, () =>
          channel.makeServerStreamRequest(
            path,
            requestSerialize,
            responseDeserialize,
            request,
            metadata,
            deadline(options),
          ),
        );
    case 'client_streaming':
      return (requests: AsyncIterable<object>, options: CallOptions = {}) =>
        settled(options, (callback) => {
          const call = channel.makeClientStreamRequest(
            path,
            requestSerialize,
            responseDeserialize,
            metadata,
            deadline(options),
            callback,
          );
          void sendAll(call, requests);
          return call;
        });
    case 'bidi_streaming':
      return (requests: AsyncIterable<object>, options: CallOptions = {}) =>
        responses(options, () => {
          const call = channel.makeBidiStreamRequest(
            path,
            requestSerialize,
            responseDeserialize,
            metadata,
            deadline(options),
          );
          void sendAll(call, requests);
          return call;
        });
  }
}

type AnswerStream = ClientReadableStream<object> | ClientDuplexStream<object, object>;
type RequestStream = ClientWritableStream<object> | ClientDuplexStream<object, object>;

interface Cancellable {
  cancel(): void;
}

/** Runs a call with a single answer. */
function settled(
  options: CallOptions,
  start: (callback: (error: unknown, response?: object) => void) => Cancellable,
): Promise<object | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = () => call.cancel();
    const call = start((error, response) => {
      options.signal?.removeEventListener('abort', cancel);
      if (error) reject(fromServiceError(error));
      else resolve(response);
    });
    if (options.signal?.aborted) cancel();
    options.signal?.addEventListener('abort', cancel, { once: true });
  });
}

/** The answers of a streaming call. Leaving the loop early cancels the call, also while a reader waits. */
function responses(options: CallOptions, start: () => AnswerStream): Answers<object> {
  return {
    [Symbol.asyncIterator]: () => iteratorOf(options, start),
    tellTo: (listener) => {
      const call = new GrpcToldCall(options, listener);
      call.begin(start);
      return call;
    },
  };
}

function iteratorOf(options: CallOptions, start: () => AnswerStream): AsyncIterableIterator<object> {
  const leaving = new AbortController();
  const answers = answersUntil(leaving.signal, options, start);
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => answers.next(),
    return: () => {
      leaving.abort(callCancelled);
      return answers.return(undefined);
    },
  };
}

async function* answersUntil(
  left: AbortSignal,
  { signal }: CallOptions,
  start: () => AnswerStream,
): AsyncGenerator<object, undefined> {
  const call = start();
  const cancel = () => call.cancel();
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  left.addEventListener('abort', cancel, { once: true });
  try {
    for await (const response of call) yield response;
  } catch (thrown) {
    if (!left.aborted) throw fromServiceError(thrown);
  } finally {
    signal?.removeEventListener('abort', cancel);
    call.on('error', () => undefined);
    call.cancel();
  }
}

/** Sends the requests as fast as the peer takes them. A source that throws cancels the call. */
async function sendAll(call: RequestStream, requests: AsyncIterable<object>): Promise<void> {
  try {
    for await (const request of allAtHand(requests) ?? requests) {
      if (call.destroyed || call.closed) return;
      if (!call.write(request)) await drained(call);
    }
    call.end();
  } catch {
    call.cancel();
  }
}

function drained(call: RequestStream): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      call.off('drain', done).off('close', done).off('error', done);
      resolve();
    };
    call.on('drain', done).on('close', done).on('error', done);
  });
}

function deadline(options: CallOptions): { deadline?: number } {
  return options.timeoutMs === undefined ? {} : { deadline: Date.now() + options.timeoutMs };
}
