import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReasoningMember } from '@gateway/encrypted-reasoning';
import { Dialect, type UpstreamAnswer } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { affinityKey } from '../attempts/affinity-key.ts';
import { classNotTaken } from '../attempts/attempt-errors.ts';
import type { AttemptsFailed } from '../attempts/attempt-loop.ts';
import { readBody } from '../body/read-body.ts';
import { writeHead } from '../http/answer-head.ts';
import type { AdmittedRequest, EndpointPeers } from './endpoint.ts';
import { generate } from './generate.ts';
import { relayAffinity } from './relay-affinity.ts';
import { requireArray, requiredModel, textOf } from './relay-request.ts';
import { whenThere } from './when-there.ts';

/** Of a client's headers only these reach the Responses pool: Codex does not work without them. */
const forwardedHeaders = ['x-openai-internal-codex-responses-lite', 'x-codex-turn-state'] as const;

/**
 * A Responses request, relayed to the Responses pool. Its answer is always a stream; it moves to another account as long as
 * nothing was sent; other errors of the provider come back unchanged. @see spec "POST /v1/responses"
 */
export function responses(request: AdmittedRequest, peers: EndpointPeers): Promise<void> {
  const { tokenId } = request.principal;
  return whenThere(readBody(request.request, request.bodyRules, seal), (body) => {
    const model = requiredModel(body);
    requireArray(body, 'input', 'input items, not a string');
    // Classes are for chat completions and Messages: here the model must be one of the pool's.
    if (model.startsWith('gateway/')) throw classNotTaken(model);
    const sessionKey = affinityKey(tokenId, request.request.headers, textOf(body, 'prompt_cache_key'));
    const affinity = relayAffinity({ tokenId, sessionKey, body });
    return generate(request, peers, {
      body,
      model,
      dialect: Dialect.RESPONSES,
      formats,
      affinityKey: affinity.affinityKey,
      answerKeysOf: affinity.answerKeysOf,
      allowCandidateFailover: false,
      forwardHeaders: codexHeaders(request.request),
      onFailed: (failed) => passOn(failed, request.response),
    });
  });
}

/** What names sealed reasoning in a Responses request. */
const seal: ReasoningMember = 'encrypted_content';
const formats = [ProviderFormat.RESPONSES];

function codexHeaders({ headers }: IncomingMessage): Record<string, string> {
  const given: Record<string, string> = {};
  for (const name of forwardedHeaders) {
    const value = headers[name];
    if (typeof value === 'string') given[name] = value;
  }
  return given;
}

/** The provider's own answer, when it gave one and the pool is not merely exhausted. */
function passOn({ error, last }: AttemptsFailed, response: ServerResponse): void {
  const answer = last?.upstreamAnswer;
  if (answer === undefined || error.code === 'pool_exhausted') throw error;
  sendUnchanged(answer, response);
}

function sendUnchanged({ status, contentType, body }: UpstreamAnswer, response: ServerResponse): void {
  writeHead(response, status, {
    ...(contentType === '' ? {} : { 'content-type': contentType }),
    'content-length': body.length,
  });
  response.end(body);
}
