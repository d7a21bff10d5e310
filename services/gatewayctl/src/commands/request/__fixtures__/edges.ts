import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type ListTracesRequest,
  RequestEnding,
  type RequestTrace,
  RequestTraceSchema,
  RequestTraceService,
} from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient, serviceRoute } from '@gateway/rpc';
import type { Edge } from '../../../control-plane/edges.ts';

/** An edge that remembers these requests, and what it was asked for. */
export function edgeWith(...traces: RequestTrace[]): Edge & { readonly asked: ListTracesRequest[] } {
  const asked: ListTracesRequest[] = [];
  const route = serviceRoute(RequestTraceService, {
    getTrace: ({ requestId }) => {
      const trace = traces.find((each) => each.requestId === requestId);
      return trace === undefined ? {} : { trace };
    },
    listTraces: (request) => {
      asked.push(request);
      return { traces };
    },
  });
  return { url: 'http://edge', traces: directClient(route), asked };
}

export const movedId = '01a1fc6b-b507-756f-be4c-3808a428abd2';

/** The members of a trace, and none of those that make it a message already. */
type TraceFields = Extract<MessageInitShape<typeof RequestTraceSchema>, { readonly $typeName?: never }>;

/** A request that went from a limited account to another, which served it. */
export function movedRequest(more: TraceFields = {}): RequestTrace {
  return create(RequestTraceSchema, {
    requestId: movedId,
    receivedAt: timestampFromMs(Date.parse('2026-11-21T09:00:00Z')),
    tokenId: 'token-1',
    endpoint: '/v1/chat/completions',
    model: 'gateway/sterk',
    ending: RequestEnding.COMPLETED,
    status: 200,
    moved: true,
    usage: { inputTokens: 1_200n, cachedTokens: 1_000n, outputTokens: 80n },
    moments: { admitted: 0.5, bodyRead: 1, firstAttempt: 2, firstByte: 340, ended: 2_100 },
    attempts: [
      {
        accountId: 'responses/team-a',
        pool: 'responses',
        model: 'gpt-5.5',
        reason: 'its session is bound to it',
        asked: 1,
        acquired: 2,
        ended: 122,
        result: AttemptResult.RATE_LIMITED,
        upstreamStatus: 429,
        retryAt: timestampFromMs(Date.parse('2026-11-21T11:00:00Z')),
      },
      {
        accountId: 'responses/team-b',
        pool: 'responses',
        model: 'gpt-5.5',
        reason: 'the only one that could',
        skipped: [{ pool: 'responses', model: 'gpt-5.5', reason: 'cooling after 429', count: 4 }],
        asked: 122,
        acquired: 123,
        firstByte: 340,
        ended: 2_100,
        result: AttemptResult.SUCCEEDED,
        upstreamStatus: 200,
        amended: 'sealed_reasoning',
      },
    ],
    ...more,
  });
}
