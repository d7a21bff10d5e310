import { parseChatRequest } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';
import { textOf } from './relay-request.ts';

/** What the edge itself needs to know of a chat request. */
export interface ChatTarget {
  readonly model: string;
  readonly promptCacheKey: string | undefined;
}

/**
 * Where a chat request wants to go. Only that is read here: the adapter parses the body anyway. Throws what is wrong with the
 * request when it names no model.
 */
export function chatTarget(body: JsonBody): ChatTarget {
  const model = textOf(body, 'model');
  if (model === undefined || model === '') return parseChatRequest(body.bytes);
  return { model, promptCacheKey: textOf(body, 'prompt_cache_key') };
}

/**
 * What is wrong with a chat request, whichever provider it goes to; undefined when nothing is. That comes first among what a client
 * is told, also where no adapter was asked. Of very large bodies only an adapter can tell: parsing one here would hold up
 * everybody else.
 */
export function chatFault(body: JsonBody): GatewayError | undefined {
  if (body.source.length > mostParsedBytes) return undefined;
  try {
    parseChatRequest(body.bytes);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
}

const mostParsedBytes = 1024 * 1024;
