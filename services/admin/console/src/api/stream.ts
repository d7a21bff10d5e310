import { create, type DescMessage, type DescMethodServerStreaming, type MessageInitShape } from '@bufbuild/protobuf';
import type { Transport } from '@connectrpc/connect';

/** Opens a stream of the gateway's messages. It ends with the signal. */
export function openStream<I extends DescMessage, O extends DescMessage>(
  transport: Transport,
  method: DescMethodServerStreaming<I, O>,
  input: MessageInitShape<I>,
  signal: AbortSignal,
) {
  return transport.stream(method, signal, undefined, undefined, once(create(method.input, input)));
}

async function* once<T>(message: T): AsyncGenerator<T> {
  yield message;
}
