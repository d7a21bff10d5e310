import { create } from '@bufbuild/protobuf';
import {
  Dialect,
  ExecuteHeadSchema,
  type ExecuteResponse,
  ExecuteResponseSchema,
} from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult, type Lease, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { RpcError } from '@gateway/rpc';
import { affinityKey } from '../attempts/affinity-key.ts';
import { requestFrames } from '../attempts/answer-frames.ts';
import { attemptOutcome, attemptUntilAnswering } from '../attempts/attempt-loop.ts';
import { readBody } from '../body/read-body.ts';
import { sendJson } from '../http/respond.ts';
import { requireArray, requiredModel } from './body-fields.ts';
import type { AdmittedRequest, EndpointPeers } from './endpoint.ts';
import { adapterOf } from './generate.ts';
import { messagesError, messagesHeaders } from './messages-protocol.ts';

/**
 * The provider's own count of a Messages request's input tokens. Takes a slot of the minute, no tokens of the day, and is
 * no request in the ledger. @see spec "POST /v1/messages/count_tokens"
 */
export async function countTokens(context: AdmittedRequest, peers: EndpointPeers): Promise<void> {
  const { requestId, principal, request, response, signal, trace } = context;
  const body = await readBody(request, context.bodyRules);
  const model = requiredModel(body);
  requireArray(body, 'messages', 'messages');
  trace.onModel(model);
  const forwardHeaders = messagesHeaders(request);

  /** The count as an answer of one frame. */
  async function* execute(lease: Lease, callSignal: AbortSignal): AsyncGenerator<ExecuteResponse> {
    const head = create(ExecuteHeadSchema, { requestId, lease, dialect: Dialect.MESSAGES, forwardHeaders });
    const frames = requestFrames(head, body.source);
    const call = adapterOf(lease, peers).countTokens(frames, { signal: callSignal, timeoutMs: countTimeoutMs });
    const { outcome, inputTokens } = await call.catch(rethrow);
    const hasSucceeded = outcome?.attempt?.result === AttemptResult.SUCCEEDED;
    const usage = { inputTokens };
    yield create(ExecuteResponseSchema, { outcome: outcome ?? {}, ...(hasSucceeded ? { head: {}, usage } : {}) });
  }
  const answer = await attemptUntilAnswering(
    {
      requestId,
      model,
      formats: [ProviderFormat.MESSAGES],
      affinityKey: affinityKey(principal.tokenId, request.headers, undefined),
      caller: principal.caller,
      allowCandidateFailover: false,
      signal,
      execute,
      trace,
    },
    peers,
  ).finally(() => peers.renewals.end(requestId));
  if (answer.kind === 'failed') throw messagesError(answer);
  await answer.frames.return(undefined);
  const outcome = attemptOutcome(AttemptResult.SUCCEEDED);
  trace.onAttemptEnded(outcome);
  // Without the session: counting says nothing of where a conversation's cache is.
  await peers.reporter.report({ requestId, affinityKey: '', attempt: { lease: answer.lease, outcome } });
  sendJson(response, 200, { input_tokens: Number(answer.first.usage?.inputTokens ?? 0n) });
}

const countTimeoutMs = 60_000;

/** A count that takes too long is a failure of its adapter: another pool may be asked. */
function rethrow(thrown: unknown): never {
  const isTooLate = thrown instanceof RpcError && thrown.status === 'deadline_exceeded';
  throw isTooLate ? new RpcError('internal', thrown.message, { cause: thrown }) : thrown;
}
