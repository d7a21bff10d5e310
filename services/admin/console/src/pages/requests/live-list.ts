import type { RequestListing, WatchRequestsResponse } from '@gateway/proto/admin/v1/request_service_pb.js';

/** Requests that ended since the page was opened. */
export interface LiveList {
  /** The one that ended last comes first. */
  readonly newest: readonly RequestListing[];
  /** The number of matching requests that were not sent, because too many ended at once. */
  readonly leftOut: number;
}

/** More rows can't be read at a glance; the pages of the list have older requests. */
const maxShown = 60;
/**
 * The maximum number of requests in one message. A list that moves faster can't be read, and would
 * occupy a core in the browser.
 */
export const mostAtOnce = 12;

export function listWith(
  { requests, leftOut }: WatchRequestsResponse,
  before: LiveList = { newest: [], leftOut: 0 },
): LiveList {
  if (requests.length === 0 && leftOut === 0) return before;
  const read = requests.slice(-mostAtOnce);
  const newest = [...read.toReversed(), ...before.newest].slice(0, maxShown);
  return { newest, leftOut: before.leftOut + leftOut + requests.length - read.length };
}

/** Live and listed requests as one list without duplicates, latest first. */
export function mergeNewest(
  live: readonly RequestListing[],
  listed: readonly RequestListing[],
): readonly RequestListing[] {
  const byId = new Map([...listed, ...live].map((listing) => [listing.request?.requestId, listing]));
  return [...byId.values()].toSorted((one, other) => receivedMs(other) - receivedMs(one));
}

function receivedMs({ request }: RequestListing): number {
  return request?.receivedAtMs ?? 0;
}
