import type { DescMessage, Message } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { tooLongField, tooLongText } from '@gateway/rpc';
import { invalidFields } from './problems.ts';

/** Refuses calls with too long texts, before a handler reads them. */
export const boundedTexts: Interceptor = (next) => async (request) => {
  const { input } = request.method;
  if (!request.stream) {
    check(input, request.message);
    return await next(request);
  }
  return await next({ ...request, message: checked(request.message, input) });
};

async function* checked<M extends Message>(messages: AsyncIterable<M>, input: DescMessage): AsyncGenerator<M> {
  for await (const message of messages) {
    check(input, message);
    yield message;
  }
}

function check(input: DescMessage, message: Message): void {
  const field = tooLongField(input, message);
  if (field !== undefined) throw invalidFields({ [field]: `It ${tooLongText}.` });
}
