import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { affinityKey, answerKey } from '../attempts/affinity-key.ts';
import { readBody } from '../body/read-body.ts';
import type { AdmittedRequest, EndpointPeers } from './endpoint.ts';
import { generate } from './generate.ts';
import { messagesError } from './messages-error.ts';
import { messagesHeaders } from './messages-headers.ts';
import { continuedAnswerId, usesThread } from './messages-thread.ts';
import { checkBoolean, requireArray, requiredModel, requireInteger } from './relay-request.ts';

/**
 * A Messages request, relayed to the Messages pool with only its model resolved. It moves to another account, never to
 * another provider. @see spec "POST /v1/messages"
 */
export async function messages(request: AdmittedRequest, peers: EndpointPeers): Promise<void> {
  const { tokenId } = request.principal;
  const body = await readBody(request.request, request.bodyRules);
  const model = requiredModel(body);
  requireInteger(body, 'max_tokens');
  requireArray(body, 'messages', 'messages');
  checkBoolean(body, 'stream');
  const continued = continuedAnswerId(body);
  await generate(request, peers, {
    body,
    model,
    dialect: Dialect.MESSAGES,
    formats: [ProviderFormat.MESSAGES],
    affinityKey:
      continued === undefined
        ? affinityKey(tokenId, request.request.headers, undefined)
        : answerKey(tokenId, continued),
    allowCandidateFailover: false,
    forwardHeaders: messagesHeaders(request.request),
    ...(usesThread(body) ? { answerKeyOf: (answerId) => answerKey(tokenId, answerId) } : {}),
    onFailed: (failed) => {
      throw messagesError(failed);
    },
  });
}
