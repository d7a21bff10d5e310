import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { affinityKey } from '../attempts/affinity-key.ts';
import type { AttemptsFailed } from '../attempts/attempt-loop.ts';
import { readBody } from '../body/read-body.ts';
import { chatFault, chatTarget } from './chat-request.ts';
import type { AdmittedRequest, EndpointPeers } from './endpoint.ts';
import { generate } from './generate.ts';

/**
 * A chat completion over a class or a direct model, streamed or not, by whichever provider takes it.
 * @see spec "POST /v1/chat/completions"
 */
export async function chatCompletions(request: AdmittedRequest, peers: EndpointPeers): Promise<void> {
  const body = await readBody(request.request, request.bodyRules);
  const { model, promptCacheKey } = chatTarget(body);
  return generate(request, peers, {
    body,
    model,
    dialect: Dialect.CHAT_COMPLETIONS,
    formats: [ProviderFormat.RESPONSES, ProviderFormat.MESSAGES],
    affinityKey: affinityKey(request.principal.tokenId, request.request.headers, promptCacheKey),
    allowCandidateFailover: true,
    forwardHeaders: {},
    faultOf: () => chatFault(body),
    onFailed: giveUp,
  });
}

function giveUp({ error }: AttemptsFailed): never {
  throw error;
}
