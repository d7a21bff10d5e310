import type { WatchRequestsRequest } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { CallContext } from '@gateway/rpc';
import type { RequestFeed } from '../request-log/request-feed.ts';
import { readSearch } from '../request-log/request-search.ts';

export interface WatchParts {
  readonly feed: RequestFeed;
  /** Aborts when watchers are to go elsewhere. */
  readonly draining: AbortSignal;
}

/** Requests that match as they come into the log. The first message is empty: from there nothing is missed. */
export async function* watchRequests(
  { feed, draining }: WatchParts,
  request: WatchRequestsRequest,
  { signal }: CallContext,
) {
  const search = { ...readSearch(request.search), sinceMs: undefined, untilMs: undefined };
  const mostAtOnce = Math.min(request.mostAtOnce || maxAtOnce, maxAtOnce);
  for await (const { requests, leftOut } of feed.watch(search, mostAtOnce, AbortSignal.any([signal, draining]))) {
    yield { requests: [...requests], leftOut };
  }
}

/** More at once can't be read by anyone. */
const maxAtOnce = 100;
