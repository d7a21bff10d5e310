import { parseChatRequest } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import { asString, type JsonBody } from '@gateway/json';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import type { Call } from '../call.ts';
import type { EndpointPeers } from '../request-context.ts';
import { affinityKey } from './affinity.ts';
import { generate } from './generate.ts';
import { readRequestBody } from './request-body.ts';

/**
 * A chat completion with a class or a model, streamed or not, from any provider that serves it.
 * @see spec "POST /v1/chat/completions"
 */
export async function chatCompletions(call: Call, peers: EndpointPeers): Promise<void> {
  const { body, model: given } = await readRequestBody(call);
  const { model, promptCacheKey } = chatTarget(body, given);
  return generate(call, peers, {
    body,
    model,
    dialect: Dialect.CHAT_COMPLETIONS,
    formats: [ProviderFormat.RESPONSES, ProviderFormat.MESSAGES],
    affinityKey: affinityKey(call.token.tokenId, call.request.headers, promptCacheKey),
    forwardHeaders: {},
    faultOf: () => chatFault(body),
  });
}

/**
 * The target of a chat request. It reads nothing else, because the adapter parses the body anyway.
 * Throws `invalid_request` when it names no model.
 */
export function chatTarget(
  body: JsonBody,
  given = body.value('model'),
): { model: string; promptCacheKey: string | undefined } {
  const model = asString(given);
  if (model === undefined || model === '') {
    const problem = given === undefined || given === null ? 'is required' : 'must be a non-empty string';
    throw chatFault(body) ?? new GatewayError('invalid_request', `model ${problem}`);
  }
  return { model, promptCacheKey: asString(body.value('prompt_cache_key')) };
}

/**
 * What is wrong with a chat request for every provider; undefined when nothing is. This error has
 * precedence over others, even if no adapter was asked. Very large bodies are checked only by an
 * adapter: parsing one here would block the event loop.
 */
export function chatFault(body: JsonBody): GatewayError | undefined {
  if (body.source.length > maxParsedBytes || body.tokens > maxParsedValues) return undefined;
  try {
    parseChatRequest(body.bytes);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
}

const maxParsedBytes = 1024 * 1024;
const maxParsedValues = 10_000;
