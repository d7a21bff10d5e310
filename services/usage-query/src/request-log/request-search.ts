import { timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import { RequestEnding, type RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import { RequestFilter, type RequestSearch } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';

/** What requests are searched by, ready to be compared. What is not searched by is undefined. */
export interface Search {
  readonly tokenIds: ReadonlySet<string> | undefined;
  readonly model: string | undefined;
  readonly outcome: SearchedOutcome | undefined;
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
  readonly accountId: string | undefined;
  readonly endpoint: string | undefined;
  /** Both included. */
  readonly statuses: { readonly first: number; readonly last: number } | undefined;
  /** The beginning of the request's id, or of the client's own. */
  readonly idPrefix: string | undefined;
}

/** A column of the log, and the value that is looked for. */
export type SearchedOutcome = readonly [column: 'moved' | 'slow' | 'ending', value: number];

/** @throws GatewayError for what can't be searched by. */
export function readSearch(search: RequestSearch | undefined): Search {
  const { tokenIds = [], filter = RequestFilter.UNSPECIFIED, since, until, status = 0 } = search ?? {};
  const outcome = outcomes[filter];
  if (outcome === undefined && filter !== RequestFilter.UNSPECIFIED) {
    throw new GatewayError('invalid_request', 'filter is not known.');
  }
  return {
    tokenIds: tokenIds.length === 0 ? undefined : new Set(tokenIds),
    model: search?.model || undefined,
    outcome,
    sinceMs: since && timestampMs(since),
    untilMs: until && timestampMs(until),
    accountId: search?.accountId || undefined,
    endpoint: search?.endpoint || undefined,
    statuses:
      status === 0 ? undefined : { first: status, last: status === 400 || status === 500 ? status + 99 : status },
    idPrefix: search?.requestId || undefined,
  };
}

/** Whether a request is one of those that are searched: what a search means is said here alone. */
export function matches(search: Search, log: RequestLogged): boolean {
  const { tokenIds, model, outcome, sinceMs, untilMs, accountId, endpoint, statuses, idPrefix } = search;
  const receivedMs = log.receivedAt === undefined ? 0 : timestampMs(log.receivedAt);
  return (
    (tokenIds === undefined || tokenIds.has(log.tokenId)) &&
    (model === undefined || log.model === model || log.attempts.some((attempt) => attempt.model === model)) &&
    (outcome === undefined || Number(log[outcome[0]]) === outcome[1]) &&
    (sinceMs === undefined || receivedMs >= sinceMs) &&
    (untilMs === undefined || receivedMs < untilMs) &&
    (accountId === undefined || log.attempts.some((attempt) => attempt.accountId === accountId)) &&
    (endpoint === undefined || log.endpoint === endpoint) &&
    (statuses === undefined || (log.status >= statuses.first && log.status <= statuses.last)) &&
    (idPrefix === undefined || log.requestId.startsWith(idPrefix) || log.clientRequestId.startsWith(idPrefix))
  );
}

/** Whether it leaves nothing out. */
export function isOfAll(search: Search): boolean {
  return Object.values(search).every((wanted) => wanted === undefined);
}

/** Undefined for a number that a later release knows. */
const outcomes: Readonly<Record<number, SearchedOutcome | undefined>> = {
  [RequestFilter.MOVED]: ['moved', 1],
  [RequestFilter.SLOW]: ['slow', 1],
  [RequestFilter.FAILED]: ['ending', RequestEnding.FAILED],
  [RequestFilter.REFUSED]: ['ending', RequestEnding.REFUSED],
  [RequestFilter.ABORTED]: ['ending', RequestEnding.ABORTED],
};
