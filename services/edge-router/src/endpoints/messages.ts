import type { IncomingMessage } from 'node:http';
import { create } from '@bufbuild/protobuf';
import { reasoningStrings } from '@gateway/encrypted-reasoning';
import { GatewayError } from '@gateway/errors';
import {
  Dialect,
  ExecuteHeadSchema,
  type ExecuteResponse,
  ExecuteResponseSchema,
} from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult, type Lease, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { RpcError } from '@gateway/rpc';
import { mayBeShown } from '../attempts/attempt-errors.ts';
import { type AttemptsFailed, reportOf, runAttempts } from '../attempts/attempt-loop.ts';
import type { Call } from '../call.ts';
import { sendJson } from '../http/respond.ts';
import type { EndpointPeers } from '../request-context.ts';
import { affinityKey, relayAffinity, threadAffinity } from './affinity.ts';
import { adapterOf, generate, requestFrames } from './generate.ts';
import { checkBoolean, readRequestBody, requireArray, requiredModel, requireInteger } from './request-body.ts';

/**
 * A Messages request, relayed to the Messages pool with only its model resolved. It may continue at
 * another account, never at another provider.
 * @see spec "POST /v1/messages"
 */
export async function messages(call: Call, peers: EndpointPeers): Promise<void> {
  const { tokenId } = call.token;
  const { body, model: given } = await readRequestBody(call, { tracked: reasoningStrings('signature') });
  const model = requiredModel(body, given);
  requireInteger(body, 'max_tokens');
  requireArray(body, 'messages', 'messages');
  checkBoolean(body, 'stream');
  const sessionKey = affinityKey(tokenId, call.request.headers, undefined);
  const forwardHeaders = messagesHeaders(call.request);
  return generate(call, peers, {
    ...threadAffinity(tokenId, body, relayAffinity(tokenId, sessionKey, body)),
    body,
    model,
    dialect: Dialect.MESSAGES,
    formats: [ProviderFormat.MESSAGES],
    features: featuresOf(forwardHeaders),
    forwardHeaders,
    onFailed: async (failed) => {
      throw messagesError(failed);
    },
  });
}

/**
 * The version and beta headers of a Messages request: `partner-…` and `anthropic-…` are spellings
 * of the same header. If there are two versions, the partner's has precedence; betas are joined. No
 * other header reaches the provider.
 * @see spec "Versioning"
 */
export function messagesHeaders({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>): Record<string, string> {
  const inBothSpellings = (name: string) => [
    ...(headersDistinct[`partner-${name}`] ?? []),
    ...(headersDistinct[`anthropic-${name}`] ?? []),
  ];
  const version = inBothSpellings('version').find((value) => value !== '') ?? defaultVersion;
  const betas = inBothSpellings('beta').flatMap((list) => list.split(',').map((each) => each.trim()));
  // Each once, in the order of their first occurrence.
  const beta = [...new Set(betas)].filter(Boolean).join(',');
  return { 'partner-version': version, ...(beta === '' ? {} : { 'partner-beta': beta }) };
}

const defaultVersion = '2023-06-01';

/**
 * The betas that a request asks for, because some accounts may lack one. Bounded, since no client
 * asks for so many.
 */
function featuresOf({ 'partner-beta': betas = '' }: Readonly<Record<string, string>>): readonly string[] {
  const names = betas.split(',').filter((name) => name !== '' && name.length <= 100);
  return names.slice(0, 50);
}

/**
 * A Messages client's error if no account answered: the gateway's own refusals unchanged; a
 * provider's error by its status, with a generic message; an unreachable pool as unavailable.
 * @see spec "Shapes"
 */
export function messagesError({ error, last }: AttemptsFailed): GatewayError {
  if (error.isFinal) return error;
  const attempt = last?.attempt;
  if (error.code === 'pool_exhausted' || attempt === undefined) return asSubscription(error);
  const { upstreamStatus, result } = attempt;
  // An intermediary answered, not the provider.
  const isForeign = result === AttemptResult.NETWORK_ERROR;
  if (upstreamStatus < 400 || isForeign || !mayBeShown(attempt)) return asSubscription(error);
  // The adapter's message for the kind of error: the provider's text does not leave the adapter.
  const { message = error.message, upstreamCode } = last?.error ?? {};
  const { retryAfterMs } = error;
  return new GatewayError('upstream_rejected', message, { upstreamStatus, upstreamCode, retryAfterMs });
}

function asSubscription(error: GatewayError): GatewayError {
  if (error.code !== 'providers_unavailable') return error;
  return new GatewayError('subscription_unavailable', error.message, {
    cause: error,
    retryAfterMs: error.retryAfterMs,
  });
}

/**
 * The provider's own count of a Messages request's input tokens. It takes a slot of the minute but
 * no tokens of the day, and is not recorded in the ledger.
 * @see spec "POST /v1/messages/count_tokens"
 */
export async function countTokens(call: Call, peers: EndpointPeers): Promise<void> {
  const { id: requestId, token, request } = call;
  const { body, model: given } = await readRequestBody(call, { streamed: false });
  const model = requiredModel(body, given);
  requireArray(body, 'messages', 'messages');
  const forwardHeaders = messagesHeaders(request);

  /** Returns the count as an answer of one frame. */
  async function* execute(lease: Lease, signal: AbortSignal): AsyncGenerator<ExecuteResponse> {
    const members = [...body.members];
    const head = create(ExecuteHeadSchema, { requestId, lease, dialect: Dialect.MESSAGES, forwardHeaders, members });
    const frames = requestFrames(head, body.source);
    const counting = adapterOf(lease, peers).countTokens(frames, { signal, timeoutMs: countTimeoutMs });
    const { result, inputTokens } = await counting.catch(asAdapterFailure);
    const hasSucceeded = result?.attempt?.result === AttemptResult.SUCCEEDED;
    const answer = hasSucceeded ? { head: {}, usage: { inputTokens } } : {};
    yield create(ExecuteResponseSchema, { result: result ?? {}, ...answer });
  }
  const formats = [ProviderFormat.MESSAGES];
  const sessionKey = affinityKey(token.tokenId, request.headers, undefined);
  const features = featuresOf(forwardHeaders);
  const answer = await runAttempts({ call, model, formats, features, affinityKey: sessionKey, execute }, peers);
  if (answer.kind === 'failed') throw messagesError(answer);
  answer.frames.close();
  const report = reportOf(AttemptResult.SUCCEEDED);
  call.onAttemptEnded(report);
  // Without the session: a count does not show where a conversation's cache is.
  await peers.leases.report({ requestId, affinityKey: '', attempt: { lease: answer.lease, report } });
  sendJson(call.response, 200, { input_tokens: answer.first.usage?.inputTokens ?? 0 });
}

const countTimeoutMs = 60_000;

/** A count that takes too long is its adapter's failure, not an answer that is too long. */
function asAdapterFailure(thrown: unknown): never {
  const isTooLate = thrown instanceof RpcError && thrown.status === 'deadline_exceeded';
  throw isTooLate ? new RpcError('internal', thrown.message, { cause: thrown }) : thrown;
}
