import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { affinityKey } from '../attempts/affinity-key.ts';
import type { AttemptsFailed } from '../attempts/attempt-loop.ts';
import { readBody } from '../body/read-body.ts';
import { chatFault, chatTarget } from './chat-request.ts';
import type { AdmittedRequest, EndpointPeers } from './endpoint.ts';
import { generate } from './generate.ts';
import { whenThere } from './when-there.ts';

/**
 * A chat completion over a class or a direct model, streamed or not, by whichever provider takes it.
 * @see spec "POST /v1/chat/completions"
 */
export function chatCompletions(request: AdmittedRequest, peers: EndpointPeers): Promise<void> {
  return whenThere(readBody(request.request, request.bodyRules), (body) => {
    const { model, promptCacheKey } = chatTarget(body);
    return generate(request, peers, {
      body,
      model,
      dialect: Dialect.CHAT_COMPLETIONS,
      formats,
      affinityKey: affinityKey(request.principal.tokenId, request.request.headers, promptCacheKey),
      allowCandidateFailover: true,
      forwardHeaders: noHeaders,
      faultOf: () => chatFault(body),
      onFailed: giveUp,
    });
  });
}

const formats = [ProviderFormat.RESPONSES, ProviderFormat.MESSAGES];
const noHeaders = {};

function giveUp({ error }: AttemptsFailed): never {
  throw error;
}
