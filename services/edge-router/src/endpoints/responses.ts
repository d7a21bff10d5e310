import type { IncomingMessage } from 'node:http';
import { reasoningStrings } from '@gateway/encrypted-reasoning';
import { asString } from '@gateway/json';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { classNotTaken } from '../attempts/attempt-errors.ts';
import type { AttemptsFailed } from '../attempts/attempt-loop.ts';
import type { Call } from '../call.ts';
import { retryHeaders } from '../errors/render-error.ts';
import { writeHead } from '../http/respond.ts';
import type { EndpointPeers } from '../request-context.ts';
import { affinityKey, relayAffinity } from './affinity.ts';
import { generate } from './generate.ts';
import { readRequestBody, requireArray, requiredModel } from './request-body.ts';

/**
 * A Responses request, relayed to the Responses pool. Its answer is always a stream. It may
 * continue at another account as long as nothing was sent; other errors of the provider are passed
 * on unchanged.
 * @see spec "POST /v1/responses"
 */
export async function responses(call: Call, peers: EndpointPeers): Promise<void> {
  const { tokenId } = call.token;
  const { body, model: given } = await readRequestBody(call, {
    tracked: reasoningStrings('encrypted_content'),
    streamed: true,
  });
  const model = requiredModel(body, given);
  requireArray(body, 'input', 'input items, not a string');
  // Classes are for chat completions and Messages: here the model must belong to the pool.
  if (model.startsWith('gateway/')) throw classNotTaken(model);
  const sessionKey = affinityKey(tokenId, call.request.headers, asString(body.value('prompt_cache_key')));
  return generate(call, peers, {
    ...relayAffinity(tokenId, sessionKey, body),
    body,
    model,
    dialect: Dialect.RESPONSES,
    formats: [ProviderFormat.RESPONSES],
    forwardHeaders: codexHeaders(call.request),
    onFailed: passOn,
  });
}

function codexHeaders({ headers }: IncomingMessage): Record<string, string> {
  const given = forwardedHeaders.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(given.filter((each): each is [string, string] => typeof each[1] === 'string'));
}

/** Only these headers of a client reach the Responses pool: Codex does not work without them. */
const forwardedHeaders: readonly string[] = ['x-openai-internal-codex-responses-lite', 'x-codex-turn-state'];

/**
 * Passes on the provider's own answer, if there is one and the pool is not merely exhausted. Of its
 * headers, clients get when a retry may succeed.
 */
async function passOn({ error, last }: AttemptsFailed, call: Call): Promise<void> {
  const answer = last?.upstreamAnswer;
  if (answer === undefined || error.code === 'pool_exhausted') throw error;
  const { status, contentType, body } = answer;
  const { response, signal } = call;
  const clientLeft = signal.aborted;
  await call.end({ status: clientLeft ? 499 : status, clientLeft });
  writeHead(response, status, {
    ...(contentType === '' ? {} : { 'content-type': contentType }),
    ...retryHeaders(error, status),
    'content-length': body.length,
  });
  response.end(body);
}
