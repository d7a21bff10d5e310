import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { RequestEnding, type RequestLogged, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import {
  type ListRequestsRequestSchema,
  type ListRequestsResponse,
  RequestFilter,
  UsageReportService,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { createUsageQueryService } from '../src/service.ts';
import { requestIdAt, storeLogs } from './request-log-fixtures.ts';

/** A second before midnight in Amsterdam. */
const startMs = Date.parse('2026-11-20T22:59:59Z');
const { COMPLETED, FAILED, REFUSED, ABORTED } = RequestEnding;

type Fields = Exclude<MessageInitShape<typeof RequestLoggedSchema>, { readonly $typeName: string }>;

/**
 * One after the other, half a second apart: the first two belong to another day than the others.
 */
const names = ['plain', 'moved', 'failed', 'slow', 'refused', 'aborted'] as const;
type Name = (typeof names)[number];
const atMs = (name: Name) => startMs + names.indexOf(name) * 500;
const requestOf = (name: Name, fields: Fields) => {
  const receivedAtMs = atMs(name);
  return create(RequestLoggedSchema, {
    requestId: idOf(name),
    tokenId: 't',
    receivedAtMs,
    model: 'gateway/sterk',
    ...fields,
  });
};
const attempt = { accountId: 'pool/a', model: 'gpt-5.5', result: AttemptResult.SUCCEEDED };
const requests = [
  requestOf('plain', { tokenId: 'one', ending: COMPLETED, attempts: [attempt] }),
  requestOf('moved', {
    ending: COMPLETED,
    moved: true,
    status: 200,
    attempts: [
      { ...attempt, result: AttemptResult.NETWORK_ERROR, cause: 'connection refused by 127.0.0.1:9' },
      { ...attempt, upstreamStatus: 200 },
    ],
  }),
  requestOf('failed', { model: 'oth_r', ending: FAILED, errorCode: 'pool_exhausted', moved: true }),
  requestOf('slow', { ending: COMPLETED, slow: true, attempts: [attempt] }),
  requestOf('refused', { model: 'oth%r', ending: REFUSED }),
  requestOf('aborted', { ending: ABORTED }),
];

describe.each(testDatabases)('the request log in $name', ({ open }) => {
  it('has a request by its id alone', async () => {
    await using opened = await open();
    const { store, client } = setUp(opened.database, false);
    await store(requests);
    const { log, request, loggedAtMs } = await client.findRequest({ requestId: idOf('moved') });
    expect(log).toEqual(requests[1]);
    expect(Math.abs(Date.now() - (loggedAtMs === undefined ? 0 : loggedAtMs))).toBeLessThan(60_000);
    expect(request).toBeUndefined();
    const unknown = await client.findRequest({ requestId: idOf('moved').replace(/0$/, '1') });
    expect(unknown.log).toBeUndefined();
  });

  it('lists a damaged entry by its id, beside the others', async () => {
    await using opened = await open();
    const { store, client } = setUp(opened.database, false);
    await store(requests);
    const damaged = { request_id: idOf('failed') };
    await opened.database
      .updateTable('request_log')
      .set({ entry_bytes: Buffer.from('not a message') })
      .where('request_id', '=', damaged.request_id)
      .execute();
    const page = await client.listRequests({});
    expect(page.requests.map(({ requestId }) => requestId)).toEqual(names.toReversed().map(idOf));
    const shown = { requestId: damaged.request_id, errorCode: 'log_entry_damaged' };
    expect(page.requests.find(({ requestId }) => requestId === damaged.request_id)).toMatchObject(shown);
    expect((await client.findRequest({ requestId: damaged.request_id })).log).toMatchObject(shown);
  });

  it.each([
    ['by this release', false],
    ['by the one before', true],
  ])(
    'lists requests, logged %s, by what became of them, by token, by model as it was asked or sent, by time, and only so many',
    async (_, isOlder) => {
      await using opened = await open();
      const { store, client } = setUp(opened.database, isOlder);
      await store(requests);
      /**
       * Collects as many requests as asked for, or all: pages end early when the database is slow.
       */
      const listed = async ({ pageSize = 20, ...query }: MessageInitShape<typeof ListRequestsRequestSchema>) => {
        const ids: string[] = [];
        for (let pageToken: string | undefined = ''; pageToken !== undefined && ids.length < pageSize; ) {
          const page: ListRequestsResponse = await client.listRequests({ ...query, pageSize, pageToken });
          ids.push(...page.requests.map(({ requestId }) => requestId));
          pageToken = page.nextPageToken || undefined;
        }
        return ids.map((id) => names.find((name) => idOf(name) === id));
      };
      expect(await listed({})).toEqual(names.toReversed());
      expect(await listed({ search: { filter: RequestFilter.FAILED } })).toEqual(['failed']);
      expect(await listed({ search: { filter: RequestFilter.MOVED } })).toEqual(['moved']);
      expect(await listed({ search: { filter: RequestFilter.SLOW } })).toEqual(['slow']);
      expect(await listed({ search: { filter: RequestFilter.REFUSED } })).toEqual(['refused']);
      expect(await listed({ search: { filter: RequestFilter.ABORTED } })).toEqual(['aborted']);
      expect(await listed({ search: { tokenIds: ['one'] } })).toEqual(['plain']);
      expect(await listed({ search: { model: 'oth_r' } })).toEqual(['failed']);
      expect(await listed({ search: { model: 'oth%r' } })).toEqual(['refused']);
      expect(await listed({ search: { model: 'gpt-5.5' } })).toEqual(['slow', 'moved', 'plain']);
      expect(await listed({ search: { model: 'gpt' } })).toEqual([]);
      const [sinceMs, untilMs] = [atMs('moved'), atMs('slow')];
      expect(await listed({ search: { sinceMs, untilMs } })).toEqual(['failed', 'moved']);
      expect(await listed({ pageSize: 2 })).toEqual(['aborted', 'refused']);
      await expect(listed({ pageSize: 1_001 })).rejects.toMatchObject({ code: 'invalid_request' });
    },
  );
});

function setUp(database: GatewayDatabase, isOlder: boolean) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const service = createUsageQueryService({ waitMs: 0 }, { database }, runtime);
  const store = (logs: readonly RequestLogged[]) => storeLogs(database, logs, { isOlder });
  return { store, client: directClientOf(service.routes, UsageReportService) };
}

function idOf(name: Name): string {
  return requestIdAt(atMs(name));
}
