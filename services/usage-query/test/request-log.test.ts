import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import {
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
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

type Fields = Exclude<MessageInitShape<typeof RequestRecordedSchema>, { readonly $typeName: string }>;

/**
 * One after the other, half a second apart: the first two belong to another day than the others.
 */
const names = ['plain', 'moved', 'failed', 'slow', 'refused', 'aborted'] as const;
type Name = (typeof names)[number];
const atMs = (name: Name) => startMs + names.indexOf(name) * 500;
const requestOf = (name: Name, fields: Fields) => {
  const receivedAtMs = atMs(name);
  return create(RequestRecordedSchema, {
    requestId: idOf(name),
    tokenId: 't',
    receivedAtMs,
    model: 'gateway/sterk',
    ...fields,
  });
};
const attempt = { accountId: 'pool/a', model: 'gpt-5.5', result: AttemptResult.SUCCEEDED };
const other = { ...attempt, model: 'gpt-5.4', result: AttemptResult.RATE_LIMITED };
const requests = [
  requestOf('plain', { tokenId: 'one', ending: COMPLETED, attempts: [attempt] }),
  requestOf('moved', {
    ending: COMPLETED,
    status: 200,
    attempts: [
      { ...attempt, result: AttemptResult.NETWORK_ERROR, cause: 'connection refused by 127.0.0.1:9' },
      { ...attempt, upstreamStatus: 200 },
    ],
  }),
  requestOf('failed', { model: 'oth_r', ending: FAILED, errorCode: 'pool_exhausted', attempts: [other, other] }),
  requestOf('slow', { ending: COMPLETED, slow: true, attempts: [attempt] }),
  requestOf('refused', { model: 'oth%r', ending: REFUSED }),
  requestOf('aborted', { ending: ABORTED }),
];

describe.each(testDatabases)('the request log in $name', ({ open }) => {
  it('has a request by its id alone', async () => {
    await using opened = await open();
    const { store, client } = setUp(opened.database);
    await store(requests);
    const { request, inLedger, loggedAtMs } = await client.findRequest({ requestId: idOf('moved') });
    expect(request).toEqual(requests[1]);
    expect(Math.abs(Date.now() - (loggedAtMs === undefined ? 0 : loggedAtMs))).toBeLessThan(60_000);
    expect(inLedger).toBe(false);
    const unknown = await client.findRequest({ requestId: idOf('moved').replace(/0$/, '1') });
    expect(unknown.request).toBeUndefined();
  });

  it('lists a damaged entry by its id, beside the others', async () => {
    await using opened = await open();
    const { store, client } = setUp(opened.database);
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
    expect((await client.findRequest({ requestId: damaged.request_id })).request).toMatchObject(shown);
  });

  it('lists requests by what became of them, by token, by model as it was asked or sent, by time, and only so many', async () => {
    await using opened = await open();
    const { store, client } = setUp(opened.database);
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
  });
});

function setUp(database: GatewayDatabase) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const service = createUsageQueryService({ waitMs: 0 }, { database }, runtime);
  const store = (logs: readonly RequestRecorded[]) => storeLogs(database, logs);
  return { store, client: directClientOf(service.routes, UsageReportService) };
}

function idOf(name: Name): string {
  return requestIdAt(atMs(name));
}
