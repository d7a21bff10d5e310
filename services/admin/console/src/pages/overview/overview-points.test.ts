import { create } from '@bufbuild/protobuf';
import {
  type OverviewPoint,
  OverviewPointSchema,
  WatchOverviewResponseSchema,
} from '@gateway/proto/admin/v1/system_service_pb.js';
import { expect, it } from 'vitest';
import { joinOverview, largestOf } from './overview-points.ts';

const start = Date.UTC(2026, 10, 20, 12);

function point(second: number, requestsPerSecond: number, tokens: Record<string, number> = {}): OverviewPoint {
  return create(OverviewPointSchema, {
    atMs: start + second * 1000,
    requestsPerSecond,
    tokensPerMinuteByModel: tokens,
  });
}

function message(...points: OverviewPoint[]) {
  return create(WatchOverviewResponseSchema, { overview: { points } });
}

it('replaces changed points, appends new ones, and drops points older than fifteen minutes', () => {
  const before = joinOverview(message(point(0, 1), point(10, 2), point(20, 3)), undefined);
  const after = joinOverview(message(point(20, 4), point(905, 5)), before);
  expect(after.points.map(({ requestsPerSecond }) => requestsPerSecond)).toEqual([2, 4, 5]);
});

it('draws the largest values by name, and adds up the rest', () => {
  const points = [point(0, 1, { a: 1, b: 5, c: 2 }), point(10, 1, { a: 9, c: 3, d: 1 })];
  expect(largestOf(points, (each) => each.tokensPerMinuteByModel, 2)).toEqual([
    { label: 'a', values: [1, 9] },
    { label: 'b', values: [5, 0] },
    { label: '2 others', values: [2, 4] },
  ]);
});
