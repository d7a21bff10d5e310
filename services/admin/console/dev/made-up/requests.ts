import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { choiceTexts, coolingText, failureTexts, hasFailedOver, skipTexts, usedBy } from '@gateway/presentation';
import {
  type RequestListing,
  RequestListingSchema,
  type RequestService,
} from '@gateway/proto/admin/v1/request_service_pb.js';
import { LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { CancelReason, NoAccountCause, RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { RequestFilter, type RequestSearch } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { tokens } from './tokens.ts';

const started = Date.now();
const cooling = coolingText(`after ${failureTexts.rate_limited}`);
const skipped = [
  { pool: 'responses', model: 'gpt-5.5', reason: cooling, count: 2, names: ['team-b', 'team-d'] },
  { pool: 'responses', model: 'gpt-5.5', reason: skipTexts.busy, count: 1, names: ['team-c'] },
];
const limited = {
  pool: 'responses',
  accountId: 'responses/team-b',
  model: 'gpt-5.5',
  reason: choiceTexts.bound,
};
const took = {
  pool: 'responses',
  accountId: 'responses/team-a',
  model: 'gpt-5.5',
  reason: choiceTexts.spare,
  skipped,
};

/**
 * One of each kind, repeated: complete, failed over, refused by a limit, exhausted, broken off,
 * aborted by the client, refused because of its body, slow, failed at each account.
 */
const kinds: readonly object[] = [
  {
    ...{ endpoint: '/v1/chat/completions', model: 'gateway/sterk', status: 200, ending: RequestEnding.COMPLETED },
    times: { admitted: 0.6, bodyRead: 1.9, firstAttempt: 3.1, firstByte: 412, ended: 2_940 },
    attempts: [
      {
        ...took,
        asked: 1.9,
        acquired: 3.1,
        firstByte: 412,
        ended: 2_936,
        result: AttemptResult.SUCCEEDED,
        upstreamStatus: 200,
        usage: { inputTokens: 1_840, cachedTokens: 1_024, outputTokens: 412, reasoningTokens: 96 },
      },
    ],
  },
  {
    ...{
      endpoint: '/v1/responses',
      model: 'gpt-5.5',
      status: 200,
      ending: RequestEnding.COMPLETED,
      clientRequestId: 'codex-turn-17',
      bodyBytes: 192_840,
    },
    times: { admitted: 0.4, bodyRead: 12, waitedForRoom: 8, firstAttempt: 13, firstByte: 690, ended: 5_210 },
    attempts: [
      {
        ...limited,
        asked: 12,
        acquired: 13,
        ended: 131,
        result: AttemptResult.RATE_LIMITED,
        upstreamStatus: 429,
        retryAtMs: started + 900_000,
        providerRequestId: 'req_0011f0c2a9',
      },
      {
        ...took,
        providerRequestId: 'req_7c3e40b1d8',
        asked: 131,
        acquired: 132,
        firstByte: 690,
        ended: 5_204,
        result: AttemptResult.SUCCEEDED,
        upstreamStatus: 200,
        amended: 'encrypted_reasoning',
        usage: { inputTokens: 48_200, cachedTokens: 44_032, outputTokens: 1_912, reasoningTokens: 1_400 },
      },
    ],
  },
  {
    ...{
      endpoint: '/v1/messages',
      model: '',
      status: 429,
      ending: RequestEnding.REFUSED,
      errorCode: 'rate_limit_exceeded',
    },
    times: { ended: 0.9 },
    refusal: { limit: LimitName.TOKENS_PER_DAY, retryAtMs: started + 18_000_000 },
  },
  {
    ...{
      endpoint: '/v1/messages',
      model: 'gateway/claude',
      status: 429,
      ending: RequestEnding.FAILED,
      errorCode: 'pool_exhausted',
    },
    times: { admitted: 0.5, bodyRead: 2.2, ended: 4.1 },
    noAccount: {
      cause: NoAccountCause.EXHAUSTED,
      retryAtMs: started + 1_020_000,
      ...{ asked: 2.2, answered: 3.6 },
      skipped: [
        {
          pool: 'messages',
          model: 'claude-sonnet-5',
          reason: cooling,
          count: 14,
          names: ['seat-01', 'seat-02', 'seat-03'],
        },
      ],
    },
  },
  {
    ...{ endpoint: '/v1/chat/completions', model: 'gateway/snel', status: 200, ending: RequestEnding.FAILED },
    times: { admitted: 0.5, bodyRead: 1.4, firstAttempt: 2.4, firstByte: 350, ended: 1_820 },
    attempts: [
      {
        ...took,
        asked: 1.4,
        acquired: 2.4,
        firstByte: 350,
        ended: 1_818,
        result: AttemptResult.SERVER_ERROR,
        usage: { inputTokens: 620, outputTokens: 88, estimated: true },
      },
    ],
  },
  {
    ...{ endpoint: '/v1/messages', model: 'claude-sonnet-5', status: 499, ending: RequestEnding.ABORTED },
    times: { admitted: 0.7, bodyRead: 3, firstAttempt: 4, firstByte: 800, ended: 1_300 },
    attempts: [
      {
        pool: 'messages',
        accountId: 'messages/seat-04',
        model: 'claude-sonnet-5',
        reason: choiceTexts.preferred,
        asked: 3,
        acquired: 4,
        firstByte: 800,
        ended: 1_299,
        result: AttemptResult.CANCELLED,
        cancelReason: CancelReason.CLIENT_LEFT,
        usage: { inputTokens: 9_100, outputTokens: 40, estimated: true },
      },
    ],
  },
  {
    ...{
      endpoint: '/v1/chat/completions',
      model: 'gateway/sterk',
      status: 400,
      ending: RequestEnding.REFUSED,
      errorCode: 'invalid_request',
    },
    times: { admitted: 0.5, bodyRead: 1.1, ended: 1.4 },
  },
  {
    ...{
      endpoint: '/v1/chat/completions',
      model: 'gateway/sterk',
      status: 200,
      ending: RequestEnding.COMPLETED,
      slow: true,
    },
    times: { admitted: 0.6, bodyRead: 2.1, firstAttempt: 3.5, firstByte: 14_200, ended: 19_400 },
    attempts: [
      {
        ...took,
        asked: 2.1,
        acquired: 3.5,
        firstByte: 14_200,
        ended: 19_395,
        result: AttemptResult.SUCCEEDED,
        upstreamStatus: 200,
        usage: { inputTokens: 22_000, outputTokens: 3_100 },
      },
    ],
  },
  {
    ...{
      endpoint: '/v1/chat/completions',
      model: 'gateway/sterk',
      status: 503,
      ending: RequestEnding.FAILED,
      errorCode: 'providers_unavailable',
    },
    times: { admitted: 0.5, bodyRead: 1.3, firstAttempt: 2.2, ended: 96 },
    attempts: [
      { ...limited, asked: 1.3, acquired: 2.2, ended: 88, result: AttemptResult.UNAUTHORIZED, upstreamStatus: 401 },
      {
        ...{ pool: 'messages', accountId: 'messages/seat-04', model: 'claude-sonnet-5', reason: choiceTexts.only },
        ...{ asked: 88, acquired: 89, ended: 94, result: AttemptResult.NETWORK_ERROR },
        cause: 'connection refused by 127.0.0.1:9',
      },
    ],
    noAccount: { cause: NoAccountCause.UNAVAILABLE, asked: 94, answered: 95, skipped },
  },
];

function made(index: number): RequestListing {
  const kind = index % 5 === 0 ? kinds[(index / 5) % kinds.length] : kinds[0];
  const token = tokens[index % 5];
  const tail = String(1_000_000 + index).padStart(12, '0');
  return create(RequestListingSchema, {
    tokenLabel: token?.label ?? '',
    request: {
      requestId: `019a${(index % 65_536).toString(16).padStart(4, '0')}-7c3e-7000-8000-${tail}`,
      tokenId: token?.tokenId ?? '',
      receivedAtMs: started - 40_000 + index * 700,
      localDay: '2026-11-22',
      ...kind,
    },
  });
}

/** Newest first. Ids below zero are older than the page. */
const past = Array.from({ length: 400 }, (_, index) => made(400 - index)).map((listing, index) => {
  if (listing.request?.receivedAtMs !== undefined) listing.request.receivedAtMs = started - 1_000 - index * 2_300;
  return listing;
});
let ended = 400;

export const requestService: Partial<ServiceImpl<typeof RequestService>> = {
  listRequests({ search, token, pageSize, pageToken }) {
    const found = past.filter((listing) => fits(listing, search, token));
    const from = Number(pageToken || 0);
    const to = from + (pageSize || 50);
    return { requests: found.slice(from, to), nextPageToken: to < found.length ? String(to) : '' };
  },
  getRequest({ requestId }) {
    const id = requestId.replace(/^chatcmpl-/, '');
    const found = id.endsWith(runningEnd)
      ? runningOnes()
      : past.filter(({ request }) => request?.requestId.startsWith(id));
    if (found.length !== 1 || found[0] === undefined)
      throw new ConnectError(`There is no request ${id}.`, Code.NotFound);
    const { request } = found[0];
    const endedMs = (request?.receivedAtMs ? request.receivedAtMs : 0) + (request?.times?.ended ?? 0);
    const inLedger = request !== undefined && usedBy(request) !== undefined;
    return { request: found[0], inLedger, loggedAtMs: Math.round(endedMs) + 180 };
  },
  async *watchRequests({ search, token }, { signal }) {
    yield {};
    while (!signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      const fresh = [made(ended + 1), made(ended + 2)].map((listing) => {
        if (listing.request !== undefined) listing.request.receivedAtMs = Date.now() - 500;
        return listing;
      });
      ended += 2;
      past.unshift(...fresh.toReversed());
      yield { requests: fresh.filter((listing) => fits(listing, search, token)) };
    }
  },
};

/** A request with this end of its id runs for the first few looks at it. */
const runningEnd = '-00000000aaaa';
let looks = 0;

function runningOnes(): readonly RequestListing[] {
  looks += 1;
  return looks > 5 ? past.slice(0, 1) : [];
}

function fits({ request, tokenLabel }: RequestListing, search: RequestSearch | undefined, token: string): boolean {
  if (request === undefined || search === undefined) return true;
  const { status, filter, endpoint, model, accountId, requestId, sinceMs, untilMs } = search;
  const ms = request.receivedAtMs ?? 0;
  const wanted: Readonly<Record<RequestFilter, boolean>> = {
    [RequestFilter.UNSPECIFIED]: true,
    [RequestFilter.FAILED]: request.ending === RequestEnding.FAILED,
    [RequestFilter.MOVED]: hasFailedOver(request),
    [RequestFilter.SLOW]: request.slow,
    [RequestFilter.REFUSED]: request.ending === RequestEnding.REFUSED,
    [RequestFilter.ABORTED]: request.ending === RequestEnding.ABORTED,
  };
  return (
    wanted[filter] &&
    (status === 0 ||
      (status % 100 === 0 && status >= 400
        ? Math.floor(request.status / 100) * 100 === status
        : request.status === status)) &&
    (endpoint === '' || request.endpoint === endpoint) &&
    (model === '' || request.model === model) &&
    (accountId === '' || request.attempts.some((attempt) => attempt.accountId === accountId)) &&
    request.requestId.startsWith(requestId) &&
    (token === '' || tokenLabel === token || request.tokenId.startsWith(token)) &&
    (sinceMs === undefined || ms >= sinceMs) &&
    (untilMs === undefined || ms < untilMs)
  );
}
