import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult, type Lease, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { affinityKey } from '../attempts/affinity-key.ts';
import { attemptUntilAnswering } from '../attempts/attempt-loop.ts';
import type { AttemptStart } from '../attempts/attempt-start.ts';
import { adapterAway, failedAttempt, isAdapterAway, requestFrames } from '../attempts/execute-attempt.ts';
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
  const { requestId, signal, response, trace } = request;
  const body = await readBody(request.request, request.bodyRules);
  const model = requiredModel(body);
  requireArray(body, 'messages', 'messages');
  trace.onModel(model);
  const forwardHeaders = { ...messagesHeaders(request.request) };
  const session = affinityKey(request.principal.tokenId, request.request.headers, undefined);

  const attempt = async (lease: Lease): Promise<AttemptStart<bigint>> => {
    const head = { requestId, lease, dialect: Dialect.MESSAGES, forwardHeaders };
    const frames = requestFrames({ head, body: body.bytes });
    try {
      const options = { signal, timeoutMs: countTimeoutMs };
      const { outcome, inputTokens } = await adapterOf(lease, peers).countTokens(frames, options);
      const succeeded = outcome?.attempt?.result === AttemptResult.SUCCEEDED;
      return succeeded ? { kind: 'answering', value: inputTokens } : failedAttempt(outcome);
    } catch (thrown) {
      if (isAdapterAway(thrown, signal)) return adapterAway(thrown);
      throw thrown;
    }
  };
  const { rpcTimeoutMs } = peers.config;
  const formats = [ProviderFormat.MESSAGES];
  const plan = {
    requestId,
    model,
    formats,
    affinityKey: session,
    caller: request.principal.caller,
    allowCandidateFailover: false,
    signal,
    attempt,
    trace,
  };
  const end = await attemptUntilAnswering(plan, { broker: peers.broker, reporter: peers.reporter, rpcTimeoutMs });
  if (end.kind === 'failed') throw messagesError(end);
  const counted = { lease: end.lease, outcome: { result: AttemptResult.SUCCEEDED } };
  trace.onAttemptEnded(counted.outcome);
  // Without the session: counting says nothing of where a conversation's cache is.
  await peers.reporter.report({ requestId, attempt: counted });
  sendJson(response, 200, { input_tokens: Number(end.value) });
}
