import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { affinityKey } from '../attempts/affinity-key.ts';
import type { AttemptsFailed } from '../attempts/attempt-loop.ts';
import { readBody } from '../body/read-body.ts';
import { checkBoolean, requireArray, requiredModel, requireInteger } from './body-fields.ts';
import type { AdmittedRequest, EndpointPeers } from './endpoint.ts';
import { generate } from './generate.ts';
import { messagesError, messagesHeaders } from './messages-protocol.ts';
import { relayAffinity, threadAffinity } from './relay-affinity.ts';

/**
 * A Messages request, relayed to the Messages pool with only its model resolved. It moves to another account, never to
 * another provider. @see spec "POST /v1/messages"
 */
export async function messages(request: AdmittedRequest, peers: EndpointPeers): Promise<void> {
  const { tokenId } = request.principal;
  // Encrypted reasoning in a Messages request.
  const body = await readBody(request.request, request.bodyRules, 'signature');
  const model = requiredModel(body);
  requireInteger(body, 'max_tokens');
  requireArray(body, 'messages', 'messages');
  checkBoolean(body, 'stream');
  const sessionKey = affinityKey(tokenId, request.request.headers, undefined);
  return generate(request, peers, {
    ...threadAffinity(tokenId, body, relayAffinity({ tokenId, sessionKey, body })),
    body,
    model,
    dialect: Dialect.MESSAGES,
    formats: [ProviderFormat.MESSAGES],
    allowCandidateFailover: false,
    forwardHeaders: messagesHeaders(request.request),
    onFailed: giveUp,
  });
}

function giveUp(failed: AttemptsFailed): never {
  throw messagesError(failed);
}
