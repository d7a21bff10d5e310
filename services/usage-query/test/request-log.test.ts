import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { eventDaysOf, type GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { RequestEnding, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import {
  type ListRequestsRequestSchema,
  RequestFilter,
  UsageReportService,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { RequestLogStore } from '@gateway/usage-ingest/store/request-log-store';
import { describe, expect, it } from 'vitest';
import { createUsageQueryService } from '../src/service.ts';

/** A second before midnight in Amsterdam. */
const startMs = Date.parse('2026-11-20T22:59:59Z');
const { COMPLETED, FAILED, REFUSED, ABORTED } = RequestEnding;

type Fields = Exclude<MessageInitShape<typeof RequestLoggedSchema>, { readonly $typeName: string }>;

/** One after the other, half a second apart: the first two are of another day than the others. */
const names = ['plain', 'moved', 'failed', 'slow', 'refused', 'aborted'] as const;
type Name = (typeof names)[number];
const atMs = (name: Name) => startMs + names.indexOf(name) * 500;
const requestOf = (name: Name, fields: Fields) => {
  const receivedAt = timestampFromMs(atMs(name));
  return create(RequestLoggedSchema, {
    requestId: idOf(name),
    tokenId: 't',
    receivedAt,
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
    attempts: [{ ...attempt, upstreamStatus: 429 }, attempt],
  }),
  requestOf('failed', { model: 'oth_r', ending: FAILED, errorCode: 'pool_exhausted' }),
  requestOf('slow', { ending: COMPLETED, slow: true, attempts: [attempt] }),
  requestOf('refused', { model: 'oth%r\0', ending: REFUSED }),
  requestOf('aborted', { ending: ABORTED }),
];

describe.each(testDatabases)('the request log in $name', ({ open }) => {
  it('has each request once, however often it is stored', async () => {
    await using opened = await open();
    const { store, client } = setUp(opened.database);
    await store.add(requests);
    await store.add([...requests.toReversed(), requestOf('moved', { ending: FAILED })]);
    const { log, request } = await client.findRequest({ requestId: idOf('moved') });
    expect(log).toMatchObject({
      requestId: idOf('moved'),
      ending: COMPLETED,
      status: 200,
      attempts: [{ accountId: 'pool/a', upstreamStatus: 429 }, {}],
    });
    expect(request).toBeUndefined();
    expect((await client.listRequests({})).requests).toHaveLength(6);
  });

  it('lists requests by what became of them, by token, by model as it was asked or sent, by time, and only so many', async () => {
    await using opened = await open();
    const { store, client } = setUp(opened.database);
    await store.add(requests);
    const listed = async (query: MessageInitShape<typeof ListRequestsRequestSchema>) =>
      (await client.listRequests(query)).requests.map(({ requestId }) =>
        names.find((name) => idOf(name) === requestId),
      );
    expect(await listed({})).toEqual(names.toReversed());
    expect(await listed({ filter: RequestFilter.FAILED })).toEqual(['failed']);
    expect(await listed({ filter: RequestFilter.MOVED })).toEqual(['moved']);
    expect(await listed({ filter: RequestFilter.SLOW })).toEqual(['slow']);
    expect(await listed({ filter: RequestFilter.REFUSED })).toEqual(['refused']);
    expect(await listed({ filter: RequestFilter.ABORTED })).toEqual(['aborted']);
    expect(await listed({ tokenId: 'one' })).toEqual(['plain']);
    expect(await listed({ model: 'oth_r' })).toEqual(['failed']);
    expect(await listed({ model: 'oth%r' })).toEqual(['refused']);
    expect(await listed({ model: 'gpt-5.5' })).toEqual(['slow', 'moved', 'plain']);
    expect(await listed({ model: 'gpt' })).toEqual([]);
    const [since, until] = [timestampFromMs(atMs('moved')), timestampFromMs(atMs('slow'))];
    expect(await listed({ since, until })).toEqual(['failed', 'moved']);
    expect(await listed({ limit: 2 })).toEqual(['aborted', 'refused']);
    await expect(listed({ limit: 1_001 })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('takes nothing of days that are no longer kept', async () => {
    await using opened = await open();
    const { store, client, days } = setUp(opened.database);
    await store.add(requests);
    const { signal } = new AbortController();
    expect(await days.removeBefore('2026-11-21', signal)).toMatchObject({ days: 1 });
    await store.add(requests);
    expect((await client.listRequests({})).requests).toHaveLength(4);
  });
});

function setUp(database: GatewayDatabase) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const service = createUsageQueryService({ waitMs: 0 }, { database }, runtime);
  const days = eventDaysOf(database, 'request_log');
  return {
    days,
    store: new RequestLogStore({ database, days }),
    client: directClientOf(service.routes, UsageReportService),
  };
}

/** @see RFC 9562, UUID version 7 */
function idOf(name: Name): string {
  const digits = atMs(name).toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
}
