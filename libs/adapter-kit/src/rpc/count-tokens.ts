import type { MessageInitShape } from '@bufbuild/protobuf';
import { GatewayError, toErrorDetail } from '@gateway/errors';
import type { AdapterService, CountTokensResponseSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import { failedAttempt, failureOfExchange, plainFailure } from '../attempt/execute-result.ts';
import { type OpenOptions, openAnswer } from '../attempt/open-answer.ts';
import { ProviderCalls, toErrorType } from '../attempt/provider-calls.ts';
import type { AttemptFailure, ClientRequest, TokenCounter } from '../format-definition.ts';
import { readWholeBody, UpstreamError } from '../upstream/upstream-exchange.ts';
import { readClientRequest } from './execute.ts';

/**
 * The handler of AdapterService.CountTokens: one attempt at one account. Throws `model_not_found`
 * when the format has no count of its own, and what is found wrong with the request; failures of
 * the provider come as a result.
 */
export function countTokens(context: AdapterContext): Handlers<typeof AdapterService>['countTokens'] {
  return async (frames, { signal }) => {
    const counter = context.format.countTokens;
    if (counter === undefined) throw new GatewayError('model_not_found', 'The tokens of this model cannot be counted.');
    const { request } = await readClientRequest(frames, context);
    using calls = new ProviderCalls(context, 'count_tokens', request.lease);
    const counted = await countOf(context, counter, request, { signal, calls, timeoutMs: countTimeoutMs });
    const result = counted.failure?.result ?? AttemptResult.SUCCEEDED;
    calls.end(toErrorType(result));
    context.metrics.attemptEnded(result);
    return toResponse(counted, calls.requestId);
  };
}

type Counted =
  | { readonly inputTokens: number; readonly upstreamStatus: number; readonly failure?: undefined }
  | { readonly failure: AttemptFailure };

async function countOf(
  context: AdapterContext,
  counter: TokenCounter,
  request: ClientRequest,
  options: OpenOptions,
): Promise<Counted> {
  const { headers, ...call } = counter.prepare(request);
  try {
    const asJson = { ...call, headers: { accept: 'application/json', ...headers } };
    const opened = await openAnswer(context, request, asJson, options);
    if (opened.failure !== undefined) return opened;
    using exchange = opened.exchange;
    return readCount(counter, await readWholeBody(exchange, maxCountBytes), opened.head.status);
  } catch (thrown) {
    if (!(thrown instanceof UpstreamError)) throw thrown;
    return { failure: failureOfExchange(thrown, false) };
  }
}

/** For the whole exchange. */
const countTimeoutMs = 30_000;
const maxCountBytes = 64 * 1024;

function readCount(counter: TokenCounter, body: Buffer, upstreamStatus: number): Counted {
  try {
    return { inputTokens: counter.readCount(JSON.parse(body.toString())), upstreamStatus };
  } catch (thrown) {
    return { failure: plainFailure(AttemptResult.SERVER_ERROR, thrown) };
  }
}

function toResponse(counted: Counted, requestId: string): MessageInitShape<typeof CountTokensResponseSchema> {
  const given = { providerRequestId: requestId };
  const { failure } = counted;
  if (failure !== undefined)
    return { result: { attempt: { ...failedAttempt(failure), ...given }, error: toErrorDetail(failure.error) } };
  const { inputTokens, upstreamStatus } = counted;
  return { inputTokens, result: { attempt: { result: AttemptResult.SUCCEEDED, upstreamStatus, ...given } } };
}
