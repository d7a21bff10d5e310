import type { ReasoningMember } from '@gateway/encrypted-reasoning';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { affinityKey } from '../attempts/affinity-key.ts';
import type { AttemptsFailed } from '../attempts/attempt-loop.ts';
import { readBody } from '../body/read-body.ts';
import type { AdmittedRequest, EndpointPeers } from './endpoint.ts';
import { generate } from './generate.ts';
import { messagesError } from './messages-error.ts';
import { messagesHeaders } from './messages-headers.ts';
import { threadAffinity, usesThread } from './messages-thread.ts';
import { relayAffinity } from './relay-affinity.ts';
import { checkBoolean, requireArray, requiredModel, requireInteger } from './relay-request.ts';
import { whenThere } from './when-there.ts';

/**
 * A Messages request, relayed to the Messages pool with only its model resolved. It moves to another account, never to
 * another provider. @see spec "POST /v1/messages"
 */
export function messages(request: AdmittedRequest, peers: EndpointPeers): Promise<void> {
  const { tokenId } = request.principal;
  return whenThere(readBody(request.request, request.bodyRules, seal), (body) => {
    const model = requiredModel(body);
    requireInteger(body, 'max_tokens');
    requireArray(body, 'messages', 'messages');
    checkBoolean(body, 'stream');
    const sessionKey = affinityKey(tokenId, request.request.headers, undefined);
    const affinity = relayAffinity({ tokenId, sessionKey, body });
    const kept = usesThread(body) ? threadAffinity(tokenId, body, affinity) : affinity;
    return generate(request, peers, {
      body,
      model,
      dialect: Dialect.MESSAGES,
      formats,
      affinityKey: kept.affinityKey,
      answerKeysOf: kept.answerKeysOf,
      allowCandidateFailover: false,
      forwardHeaders: messagesHeaders(request.request),
      onFailed: giveUp,
    });
  });
}

/** What names sealed reasoning in a Messages request. */
const seal: ReasoningMember = 'signature';
const formats = [ProviderFormat.MESSAGES];

function giveUp(failed: AttemptsFailed): never {
  throw messagesError(failed);
}
