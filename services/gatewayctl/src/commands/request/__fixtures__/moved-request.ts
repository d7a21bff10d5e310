import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { notFound } from '@gateway/admin/rpc/problems';
import { type ListRequestsRequest, RequestService } from '@gateway/proto/admin/v1/request_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import {
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { CommandLine } from '../../../__fixtures__/command-line.ts';

/** A gateway whose log has these requests, and the searches that it received. */
export function commandLineOver(requests: readonly RequestRecorded[]) {
  const asked: ListRequestsRequest[] = [];
  const listings = requests.map((request) => ({ request, tokenLabel: 'ci' }));
  const line = new CommandLine((router) =>
    router.service(RequestService, {
      getRequest: ({ requestId }) => {
        const request = listings.find((each) => `chatcmpl-${each.request.requestId}`.includes(requestId));
        if (request === undefined) throw notFound(`request ${requestId}`);
        return { request, inLedger: true, loggedAtMs: Date.parse('2026-11-21T09:00:02.4Z') };
      },
      listRequests: (request) => {
        asked.push(request);
        return { requests: listings };
      },
      async *watchRequests() {
        yield { requests: [] };
        yield { requests: listings.slice(0, 1), leftOut: 2 };
        yield { requests: listings.slice(1) };
      },
    }),
  );
  return { line, asked };
}

export const movedId = '01a1fc6b-b507-756f-be4c-3808a428abd2';

/** The members of a log entry, without those of a message. */
type TraceFields = Extract<MessageInitShape<typeof RequestRecordedSchema>, { readonly $typeName?: never }>;

/** A request that failed over from a limited account to another, which served it. */
export function movedRequest(more: TraceFields = {}): RequestRecorded {
  return create(RequestRecordedSchema, {
    requestId: movedId,
    receivedAtMs: Date.parse('2026-11-21T09:00:00Z'),
    tokenId: 'token-1',
    endpoint: '/v1/chat/completions',
    model: 'gateway/sterk',
    ending: RequestEnding.COMPLETED,
    status: 200,
    times: { admitted: 0.5, bodyRead: 1, firstAttempt: 2, firstByte: 340, ended: 2_100 },
    attempts: [
      {
        accountId: 'responses/team-a',
        pool: 'responses',
        model: 'gpt-5.5',
        reason: 'because its session is bound to it',
        asked: 1,
        acquired: 2,
        ended: 122,
        result: AttemptResult.RATE_LIMITED,
        upstreamStatus: 429,
        retryAtMs: Date.parse('2026-11-21T11:00:00Z'),
      },
      {
        accountId: 'responses/team-b',
        pool: 'responses',
        model: 'gpt-5.5',
        reason: 'as the only eligible account',
        skipped: [{ pool: 'responses', model: 'gpt-5.5', reason: 'cooling after 429', count: 4 }],
        asked: 122,
        acquired: 123,
        firstByte: 340,
        ended: 2_100,
        result: AttemptResult.SUCCEEDED,
        upstreamStatus: 200,
        amended: 'encrypted_reasoning',
        usage: {
          ...{ inputTokens: 1_200, cachedTokens: 1_000, cacheWrite5mTokens: 40, cacheWrite1hTokens: 60 },
          outputTokens: 80,
        },
        costMicros: 1_250_000,
      },
    ],
    ...more,
  });
}
