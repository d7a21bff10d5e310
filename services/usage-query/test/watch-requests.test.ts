import type { MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import {
  UsageReportService,
  type WatchRequestsRequestSchema,
  type WatchRequestsResponse,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { createUsageQueryService } from '../src/service.ts';
import { loggedRequest, storeLogs } from './request-log-fixtures.ts';

const nowMs = Date.now();

describe.each(testDatabases)('watching the request log in $name', ({ open }) => {
  it('gives each request that matches once, also one that was received long before', async () => {
    await using opened = await open();
    await using watched = await openWatch(opened.database, { search: { tokenIds: ['a'] } });
    await storeLogs(opened.database, [
      loggedRequest(nowMs, { tokenId: 'a' }),
      loggedRequest(nowMs + 1, { tokenId: 'b' }),
    ]);
    expect(await watched.next(1)).toMatchObject([{ tokenId: 'a' }]);
    const [late, next] = [
      loggedRequest(nowMs - 3_600_000, { tokenId: 'a' }),
      loggedRequest(nowMs + 2, { tokenId: 'a' }),
    ];
    await storeLogs(opened.database, [late]);
    await storeLogs(opened.database, [next]);
    expect(await watched.next(2)).toEqual([late, next]);
  });

  it('begins with what comes after its first message, which is empty', async () => {
    await using opened = await open();
    await storeLogs(opened.database, [loggedRequest(nowMs)]);
    await using watched = await openWatch(opened.database);
    await storeLogs(opened.database, [loggedRequest(nowMs + 1)]);
    expect(await watched.next(1)).toEqual([loggedRequest(nowMs + 1)]);
  });

  it('counts what it leaves out when more end than can be read', async () => {
    await using opened = await open();
    await using watched = await openWatch(opened.database);
    await storeLogs(
      opened.database,
      Array.from({ length: 2_300 }, (_, index) => loggedRequest(nowMs, {}, index)),
    );
    const seen = { requests: 0, leftOut: 0 };
    while (seen.requests + seen.leftOut < 2_300) {
      const { requests, leftOut } = await watched.message();
      expect(requests.length).toBeLessThanOrEqual(100);
      seen.requests += requests.length;
      seen.leftOut += leftOut;
    }
    expect(seen.requests + seen.leftOut).toBe(2_300);
    expect(seen.leftOut).toBeGreaterThan(0);
  });

  it('gives no more at once than is asked for: the last ones', async () => {
    await using opened = await open();
    await using watched = await openWatch(opened.database, { mostAtOnce: 5 });
    const logs = Array.from({ length: 40 }, (_, index) => loggedRequest(nowMs, {}, index));
    await storeLogs(opened.database, logs);
    const { requests, leftOut } = await watched.message();
    expect([requests, leftOut]).toEqual([logs.slice(-5), 35]);
  });

  it('looks once for all who watch, and not at all when none does', async () => {
    await using opened = await open();
    let looks = 0;
    const counting = opened.database.withPlugin({
      transformQuery: ({ node }) => {
        looks++;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    await using service = serviceOf(counting);
    const watches = await Promise.all(Array.from({ length: 5 }, () => watch(service)));
    const begun = looks;
    await storeLogs(opened.database, [loggedRequest(nowMs)]);
    for (const each of watches) expect(await each.next(1)).toHaveLength(1);
    expect(looks - begun).toBeLessThanOrEqual(8);
    for (const each of watches) await each[Symbol.asyncDispose]();
    await new Promise((resolve) => setTimeout(resolve, 3 * pollMs));
    const ended = looks;
    await new Promise((resolve) => setTimeout(resolve, 5 * pollMs));
    expect(looks).toBe(ended);
    await using again = await watch(service);
    await storeLogs(opened.database, [loggedRequest(nowMs + 1)]);
    expect(await again.next(1)).toHaveLength(1);
  });

  it('goes on after the database was away', async () => {
    await using opened = await open();
    await using watched = await openWatch(opened.database);
    await opened.database.schema.alterTable('request_log').renameTo('elsewhere').execute();
    await new Promise((resolve) => setTimeout(resolve, 3 * pollMs));
    await opened.database.schema.alterTable('elsewhere').renameTo('request_log').execute();
    await storeLogs(opened.database, [loggedRequest(nowMs)]);
    expect(await watched.next(1)).toHaveLength(1);
  });

  it('ends when the service drains', async () => {
    await using opened = await open();
    await using service = serviceOf(opened.database);
    const stream = directClientOf(service.routes, UsageReportService).watchRequests({})[Symbol.asyncIterator]();
    await stream.next();
    const ending = stream.next();
    await service.drain?.(0);
    expect(await ending).toMatchObject({ done: true });
  });
});

const pollMs = 40;

function serviceOf(database: GatewayDatabase) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  return createUsageQueryService({ waitMs: 0 }, { database }, runtime, { watchPollMs: pollMs });
}

async function openWatch(database: GatewayDatabase, request?: MessageInitShape<typeof WatchRequestsRequestSchema>) {
  await using stack = new AsyncDisposableStack();
  const service = stack.use(serviceOf(database));
  const watched = stack.use(await watch(service, request));
  const opened = stack.move();
  return { ...watched, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Returns after the first message. */
async function watch(
  { routes }: Pick<ReturnType<typeof serviceOf>, 'routes'>,
  request: MessageInitShape<typeof WatchRequestsRequestSchema> = {},
) {
  const stream = directClientOf(routes, UsageReportService).watchRequests(request)[Symbol.asyncIterator]();
  const message = async (): Promise<WatchRequestsResponse> => {
    const { value, done } = await stream.next();
    if (done === true) throw new Error('the stream ended');
    return value;
  };
  expect((await message()).requests).toEqual([]);
  return {
    message,
    /** Waits for this many further requests. */
    async next(count: number): Promise<readonly RequestRecorded[]> {
      const requests: RequestRecorded[] = [];
      while (requests.length < count) requests.push(...(await message()).requests);
      return requests;
    },
    [Symbol.asyncDispose]: async () => void (await stream.return?.()),
  };
}
