import { parseChatRequest } from '@gateway/chat';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { relayAnswer } from '../answer/relay-answer.ts';
import { affinityKey } from '../attempts/affinity-key.ts';
import { attemptUntilAnswering } from '../attempts/attempt-loop.ts';
import { readBody } from '../body/read-body.ts';
import { UsageBooking } from '../usage/usage-booking.ts';
import type { AdmittedRequest, EndpointPeers } from './endpoint.ts';

const bodyRules = { limitBytes: 16 * 1024 * 1024, acceptsCompression: true };

/**
 * A chat completion over a class or a direct model, streamed or not, by whichever provider takes it.
 * @see spec "POST /v1/chat/completions"
 */
export async function chatCompletions(request: AdmittedRequest, peers: EndpointPeers): Promise<void> {
  const body = await readBody(request.request, bodyRules);
  const chat = parseChatRequest(body.bytes);
  const booking = new UsageBooking({ ...request, endpoint: request.path, bodyBytes: body.bytes.length }, peers.booking);
  const plan = {
    requestId: request.requestId,
    model: chat.model,
    adapters: peers.adapters,
    dialect: Dialect.CHAT_COMPLETIONS,
    affinityKey: affinityKey(request.principal.tokenId, request.request.headers, chat.promptCacheKey),
    allowCandidateFailover: true,
    body: body.bytes,
    forwardHeaders: {},
    signal: request.signal,
    onLease: booking.onLease,
    onUsage: booking.onUsage,
  };
  const { rpcTimeoutMs, heartbeatMs } = peers.config;
  try {
    const answering = await attemptUntilAnswering(plan, peers.broker, rpcTimeoutMs);
    await relayAnswer({
      answering,
      booking,
      heartbeatMs,
      response: request.response,
      dialect: request.errorDialect,
      signal: request.signal,
      report: async (outcome) => {
        const attempt = { lease: answering.lease, outcome };
        const report = { requestId: request.requestId, affinityKey: plan.affinityKey, attempt };
        await peers.broker.report(report, { timeoutMs: rpcTimeoutMs }).catch(() => undefined);
      },
    });
  } finally {
    // Changes nothing when the relay has booked; else no answer was sent, and only a client that left can owe tokens.
    await (request.signal.aborted ? booking.end(Outcome.ABORTED) : booking.discard());
  }
}
