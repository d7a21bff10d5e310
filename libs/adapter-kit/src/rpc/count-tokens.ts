import { GatewayError } from '@gateway/errors';
import type { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import { unavailable } from '../attempt/attempt-failure.ts';
import type { ClientRequest, TokenCounter } from '../provider-format.ts';
import { jsonHeaders } from '../upstream/json-headers.ts';
import { requestAnswer, type UpstreamAnswer } from '../upstream/request-answer.ts';
import { readClientRequest } from './read-client-request.ts';

/** The handler of AdapterService.CountTokens. Throws `model_not_found` when the format has no count of its own. */
export function countTokens(context: AdapterContext): Handlers<typeof AdapterService>['countTokens'] {
  return async (frames, { signal }) => {
    const counter = context.format.countTokens;
    if (counter === undefined) throw new GatewayError('model_not_found', 'Tokens of this model can’t be counted.');
    const { request } = await readClientRequest(frames, context.clock);
    const answer = await ask(context, counter, request, signal);
    if (answer.status >= 300) {
      throw context.format.mapUpstreamError({ ...answer, nowMs: context.clock.nowMs() }).error;
    }
    return { inputTokens: BigInt(readCount(counter, answer.body)) };
  };
}

async function ask(
  { credentials, upstream, format }: AdapterContext,
  counter: TokenCounter,
  request: ClientRequest,
  signal: AbortSignal,
): Promise<UpstreamAnswer> {
  const { path, headers, body } = counter.prepare(request);
  try {
    const account = await credentials.ofAccount(request.lease.accountId);
    const answer = await requestAnswer(upstream, {
      account,
      method: 'POST',
      path,
      headers: { ...jsonHeaders, accept: 'application/json', ...format.headers, ...headers },
      body,
      timeoutMs: countTimeoutMs,
      signal,
    });
    if (answer.status === 401) credentials.drop(account);
    return answer;
  } catch (thrown) {
    throw unavailable(thrown);
  }
}

const countTimeoutMs = 30_000;

function readCount(counter: TokenCounter, body: Uint8Array): number {
  try {
    return counter.readCount(JSON.parse(Buffer.from(body).toString()));
  } catch (thrown) {
    throw unavailable(thrown);
  }
}
