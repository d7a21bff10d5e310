import { randomUUID } from 'node:crypto';
import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { eventDaysOf, type GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import {
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { createUsageIngestService } from '../src/service.ts';
import { ledgerTotals, usedRequest } from './usage-fixtures.ts';

/** Just before midnight in Amsterdam. */
const yesterdayMs = Date.parse('2026-11-20T22:59:59Z');
const todayMs = yesterdayMs + 1_000;

describe.each(testDatabases)('the request log in $name', ({ open }) => {
  it('keeps each request with a log part once, on the day of its request, beside its usage', async () => {
    await using opened = await open();
    const used = usedRequest();
    const logs = [
      entry(yesterdayMs, {
        endpoint: '/v1/messages',
        model: 'gateway/sterk',
        attempts: [
          { model: 'gpt-5.5', accountId: 'pool/a' },
          { model: 'gpt-5.5', accountId: 'pool/b', usage: { inputTokens: 10, outputTokens: 5 } },
        ],
        localDay: '2026-11-20',
        admittedAtMs: yesterdayMs,
        status: 200,
        clientRequestId: 'run-17',
      }),
      entry(todayMs),
    ];
    expect(await record(opened.database, used, ...logs)).toMatchObject({ recorded: 2 });
    expect(await record(opened.database, ...logs.toReversed(), used)).toMatchObject({ recorded: 0 });
    const rows = await opened.database.selectFrom('request_log').selectAll().orderBy('local_day').execute();
    expect(rows).toMatchObject([
      {
        local_day: '2026-11-20',
        received_at_ms: yesterdayMs,
        moved: 1,
        models: '\ngateway/sterk\ngpt-5.5\n',
        status: 200,
        endpoint: '/v1/messages',
        accounts: '\npool/a\npool/b\n',
        client_request_id: 'run-17',
      },
      { local_day: '2026-11-21', moved: 0, slow: 0, accounts: '\n\n', client_request_id: '' },
    ]);
    for (const { logged_at_ms } of rows) expect(Math.abs(Date.now() - (logged_at_ms ?? 0))).toBeLessThan(60_000);
    expect(rows.map(decoded)).toEqual(logs);
    expect((await ledgerTotals(opened.database)).events?.requests).toBe(2);
  });

  it('keeps nothing of the trace of a request', async () => {
    await using opened = await open();
    const log = entry(todayMs);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await record(opened.database, { ...log, traceparent });
    const rows = await opened.database.selectFrom('request_log').select('entry_bytes').execute();
    expect(rows.map(decoded)).toEqual([log]);
  });

  it('keeps why a provider did not answer, of an entry that says it', async () => {
    await using opened = await open();
    const cause = 'connection refused by 127.0.0.1:9';
    const logs = [
      entry(yesterdayMs, { attempts: [{ accountId: 'pool/a', cause }] }),
      entry(todayMs, { attempts: [{ accountId: 'pool/a' }] }),
    ];
    await record(opened.database, ...logs);
    const rows = await opened.database.selectFrom('request_log').select('entry_bytes').orderBy('local_day').execute();
    expect(rows.map((row) => decoded(row).attempts[0]?.cause)).toEqual([cause, '']);
  });

  it('takes what no database could store as it came, and records the usage beside what it cannot keep', async () => {
    await using opened = await open();
    const logs = [
      entry(todayMs, { model: 'a\0\ud800b' }),
      create(RequestRecordedSchema, { requestId: 'no time' }),
      entry(todayMs, { requestId: '' }),
      usedRequest({ receivedAtMs: -1 }),
      entry(1, { model: 'first' }),
    ];
    await record(opened.database, ...logs);
    const stored = await opened.database.selectFrom('request_log').select('models').orderBy('local_day').execute();
    expect(stored).toEqual([{ models: '\nfirst\n' }, { models: '\na\ufffdb\n' }]);
    expect((await ledgerTotals(opened.database)).events?.requests).toBe(1);
  });

  it('takes nothing of days that are no longer kept, and removes them apart from those of events', async () => {
    await using opened = await open();
    const logs = [usedRequest({ receivedAtMs: yesterdayMs }), entry(todayMs)];
    await record(opened.database, ...logs);
    const days = eventDaysOf(opened.database, 'request_log');
    const { signal } = new AbortController();
    expect(await days.removeBefore('2026-11-21', signal)).toMatchObject({ days: 1 });
    await record(opened.database, ...logs, entry(todayMs));
    const rows = await opened.database.selectFrom('request_log').select('local_day').execute();
    expect(rows).toEqual([{ local_day: '2026-11-21' }, { local_day: '2026-11-21' }]);
    expect((await ledgerTotals(opened.database)).events?.requests).toBe(1);
  });
});

type Fields = Exclude<MessageInitShape<typeof RequestRecordedSchema>, { readonly $typeName: string }>;

function entry(receivedAtMs: number, fields: Fields = {}): RequestRecorded {
  return create(RequestRecordedSchema, {
    requestId: randomUUID(),
    tokenId: 't',
    receivedAtMs,
    ending: RequestEnding.COMPLETED,
    ...fields,
  });
}

function decoded(row: { readonly entry_bytes: Uint8Array }): RequestRecorded {
  return fromBinary(RequestRecordedSchema, row.entry_bytes);
}

/** Records through a process that then stops. */
async function record(database: GatewayDatabase, ...requests: RequestRecorded[]) {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const config = { batchEvents: 50, retentionDays: 90, logRetentionDays: 7 };
  await using service = createUsageIngestService(config, { database }, runtime);
  return await directClientOf(service.routes, UsageIngestService).record({ requests });
}
