import { create } from '@bufbuild/protobuf';
import { RequestListingSchema, WatchRequestsResponseSchema } from '@gateway/proto/admin/v1/request_service_pb.js';
import { describe, expect, it } from 'vitest';
import { listWith, mergeNewest } from './live-list.ts';

const listing = (requestId: string, ms: number) =>
  create(RequestListingSchema, { request: { requestId, receivedAtMs: ms } });
const message = (ids: readonly string[], leftOut = 0) =>
  create(WatchRequestsResponseSchema, { requests: ids.map((id) => listing(id, 0)), leftOut });
const idsOf = (listings: readonly { request?: { requestId: string } | undefined }[]) =>
  listings.map(({ request }) => request?.requestId);

describe('the live list of requests', () => {
  it('begins with the latest request, and counts those left out', () => {
    const list = listWith(message(['c'], 1), listWith(message(['a', 'b'], 3)));
    expect(idsOf(list.newest)).toEqual(['c', 'b', 'a']);
    expect(list.leftOut).toBe(4);
    expect(listWith(message([]), list)).toBe(list);
  });

  it('adds and keeps only as many as can be read, and counts the others', () => {
    const ids = Array.from({ length: 40 }, (_, index) => String(index));
    const once = listWith(message(ids, 60));
    expect(idsOf(once.newest)).toEqual(ids.slice(-12).toReversed());
    expect(once.leftOut).toBe(88);
    const often = ids.reduce((list) => listWith(message(ids), list), once);
    expect(often.newest).toHaveLength(60);
  });

  it('is one list with the pages, in the order of receipt, each request once', () => {
    const merged = mergeNewest([listing('c', 3), listing('b', 2)], [listing('b', 2), listing('a', 1), listing('d', 4)]);
    expect(idsOf(merged)).toEqual(['d', 'c', 'b', 'a']);
  });
});
