import { create } from '@bufbuild/protobuf';
import { Dialect, ExecuteHeadSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult, type Lease, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { RpcError } from '@gateway/rpc';
import { affinityKey } from '../attempts/affinity-key.ts';
import { attemptOf, attemptUntilAnswering } from '../attempts/attempt-loop.ts';
import { reportOf } from '../attempts/attempt-reporter.ts';
import { type AttemptStart, adapterAway, attemptOutcome, failedAttempt } from '../attempts/attempt-start.ts';
import { requestFrames } from '../attempts/execute-attempt.ts';
import { readBody } from '../body/read-body.ts';
import { sendJson } from '../http/send-json.ts';
import type { AdmittedRequest, EndpointPeers } from './endpoint.ts';
import { adapterOf } from './generate.ts';
import { messagesError } from './messages-error.ts';
import { messagesHeaders } from './messages-headers.ts';
import { requireArray, requiredModel } from './relay-request.ts';

const countTimeoutMs = 60_000;

/**
 * The provider's own count of a Messages request's input tokens. Takes a slot of the minute, no tokens of the day, and is
 * no request in the ledger. @see spec "POST /v1/messages/count_tokens"
 */
export async function countTokens(request: AdmittedRequest, peers: EndpointPeers): Promise<void> {
  const { requestId, client, response, trace } = request;
  const body = await readBody(request.request, request.bodyRules);
  const model = requiredModel(body);
  requireArray(body, 'messages', 'messages');
  trace.onModel(model);
  const forwardHeaders = messagesHeaders(request.request);
  const session = affinityKey(request.principal.tokenId, request.request.headers, undefined);

  const attempt = async (lease: Lease): Promise<AttemptStart<bigint>> => {
    peers.renewals.keep(requestId, lease);
    const head = create(ExecuteHeadSchema, { requestId, lease, dialect: Dialect.MESSAGES, forwardHeaders });
    const frames = requestFrames({ head, body: body.source });
    try {
      const options = { signal: client.signal, timeoutMs: countTimeoutMs };
      const { outcome, inputTokens } = await adapterOf(lease, peers).countTokens(frames, options);
      const succeeded = outcome?.attempt?.result === AttemptResult.SUCCEEDED;
      return succeeded ? { kind: 'answering', value: inputTokens } : failedAttempt(outcome);
    } catch (thrown) {
      if (thrown instanceof RpcError && !client.hasLeft) return adapterAway(thrown);
      throw thrown;
    }
  };
  const formats = [ProviderFormat.MESSAGES];
  const plan = {
    requestId,
    model,
    formats,
    affinityKey: session,
    caller: request.principal.caller,
    allowCandidateFailover: false,
    client,
    attempt,
    trace,
  };
  const end = await attemptUntilAnswering(plan, peers).finally(() => peers.renewals.end(requestId));
  if (end.kind === 'failed') throw messagesError(end);
  const outcome = attemptOutcome(AttemptResult.SUCCEEDED);
  trace.onAttemptEnded(outcome);
  // Without the session: counting says nothing of where a conversation's cache is.
  await peers.reporter.report(reportOf(requestId, '', attemptOf(end.lease, outcome)));
  sendJson(response, 200, { input_tokens: Number(end.value) });
}
