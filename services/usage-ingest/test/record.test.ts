import type { GatewayDatabase } from '@gateway/database';
import { openTestPostgres, testDatabases } from '@gateway/database/testing';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createUsageIngestService } from '../src/service.ts';
import { expectedTotals, ledgerTotals, usedRequest } from './usage-fixtures.ts';

describe.each(testDatabases)('recording usage in $name', ({ open }) => {
  it('stores a request with everything that is known of it', async () => {
    await using opened = await open();
    const priced = { groupId: 'g1', cacheWrite5mTokens: 2, cacheWrite1hTokens: 1, costMicros: 70 };
    const event = usedRequest({ ending: RequestEnding.FAILED, estimated: true, reasoningTokens: 3, ...priced });
    expect(await record(opened.database, event)).toBe(1);
    expect(await opened.database.selectFrom('usage_events').selectAll().execute()).toEqual([
      {
        request_id: event.requestId,
        token_id: 'token',
        admitted_at_ms: Date.parse('2026-11-20T10:00:00Z'),
        local_day: '2026-11-20',
        endpoint: '/v1/responses',
        provider: 'provider_a',
        model: 'gpt-5.5',
        input_tokens: 10,
        cached_tokens: 4,
        output_tokens: 5,
        reasoning_tokens: 3,
        estimated: 1,
        outcome: 'failed',
        account_id: 'pool/a',
        group_id: 'g1',
        cache_write_5m_tokens: 2,
        cache_write_1h_tokens: 1,
        cost_micros: 70,
        parts: null,
        unpriced_tokens: 0,
        unpriced_calls: 0,
      },
    ]);
  });

  it('adds it to the sums of its token, day, provider and model', async () => {
    await using opened = await open();
    await record(opened.database, usedRequest(), usedRequest({ localDay: '2026-11-19' }));
    await record(
      opened.database,
      usedRequest(),
      usedRequest({ model: 'gpt-5.5-mini' }),
      usedRequest({ tokenId: 'other' }),
    );
    const rows = await opened.database
      .selectFrom('usage_daily')
      .select(['token_id', 'local_day', 'model', 'requests', 'input_tokens', 'cached_tokens', 'output_tokens'])
      .orderBy('token_id')
      .orderBy('local_day')
      .orderBy('model')
      .execute();
    const once = { requests: 1, input_tokens: 10, cached_tokens: 4, output_tokens: 5 };
    const twice = { requests: 2, input_tokens: 20, cached_tokens: 8, output_tokens: 10 };
    expect(rows).toEqual([
      { token_id: 'other', local_day: '2026-11-20', model: 'gpt-5.5', ...once },
      { token_id: 'token', local_day: '2026-11-19', model: 'gpt-5.5', ...once },
      { token_id: 'token', local_day: '2026-11-20', model: 'gpt-5.5', ...twice },
      { token_id: 'token', local_day: '2026-11-20', model: 'gpt-5.5-mini', ...once },
    ]);
  });

  it('counts a request once, within one call and over several', async () => {
    await using opened = await open();
    const event = usedRequest();
    expect(await record(opened.database, event, event)).toBe(1);
    expect(await record(opened.database, event)).toBe(0);
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals([event]));
  });

  it('keeps the first of two accounts of one request', async () => {
    await using opened = await open();
    const event = usedRequest();
    await record(opened.database, event, usedRequest({ requestId: event.requestId, inputTokens: 99 }));
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals([event]));
  });

  it('keeps the end of a request instead of an estimate, whichever comes first', async () => {
    const end = usedRequest({ costMicros: 9, groupId: 'g1' });
    const known = { inputTokens: 7, outputTokens: 0, model: 'gpt-5.5-mini', accountId: 'pool/b' };
    const lost = usedRequest({ requestId: end.requestId, ending: RequestEnding.FAILED, estimated: true, ...known });
    for (const calls of [
      [[end], [lost]],
      [[lost], [end]],
      [[lost, end]],
      [[end, lost]],
      [[lost], [end], [end], [lost]],
    ]) {
      await using opened = await open();
      for (const events of calls) await record(opened.database, ...events);
      expect(await opened.database.selectFrom('usage_events').select(['outcome', 'cost_micros']).execute()).toEqual([
        { outcome: 'completed', cost_micros: 9 },
      ]);
      const { byAccount, ...totals } = await ledgerTotals(opened.database);
      const { byAccount: expected, ...expectedSums } = expectedTotals([end]);
      expect(totals).toEqual(expectedSums);
      expect(byAccount).toMatchObject(expected);
      const sums = opened.database.selectFrom('usage_daily').where('group_id', '<>', '').where('requests', '>', 0);
      expect(await sums.select('cost_micros').execute()).toEqual([{ cost_micros: 9 }]);
    }
  });

  it('takes an empty list', async () => {
    await using opened = await open();
    expect(await record(opened.database)).toBe(0);
  });

  it('puts an event that cannot be stored aside, once, and stores the others', async () => {
    using _ = new ManualTime(1_000);
    await using opened = await open();
    const bad = usedRequest({ localDay: 'tomorrow' });
    expect(await record(opened.database, usedRequest(), bad, usedRequest())).toBe(2);
    expect(await record(opened.database, bad)).toBe(0);
    const letters = await opened.database.selectFrom('dead_letters').select(['reason', 'received_at_ms']).execute();
    expect(letters).toEqual([{ reason: 'localDay is not a day', received_at_ms: 1_000 }]);
  });

  it('finds the one event that the database itself refuses', async () => {
    await using opened = await open();
    const bad = usedRequest({ requestId: 'refused' });
    await refuseRequest(opened.database, bad.requestId);
    const others = Array.from({ length: 5 }, () => usedRequest());
    expect(await record(opened.database, ...others.slice(2), bad, ...others.slice(0, 2))).toBe(5);
    expect(await ledgerTotals(opened.database)).toEqual(expectedTotals(others));
    const [letter] = await opened.database.selectFrom('dead_letters').select('payload').execute();
    expect(Buffer.from(letter?.payload ?? '', 'base64').toString()).toContain('refused');
  });

  it('stores nothing and says so when the tables are not there', async () => {
    await using opened = await open();
    await opened.database.schema.dropTable('usage_daily').execute();
    await expect(record(opened.database, usedRequest())).rejects.toThrow();
    expect(await opened.database.selectFrom('usage_events').selectAll().execute()).toEqual([]);
  });

  it('adds up exactly, whatever the batches, repetitions and order', async () => {
    await using opened = await open();
    const sent: ReturnType<typeof usedRequest>[] = [];
    const batches = fc.array(
      fc.array(
        fc.record({
          id: fc.nat(40),
          input: fc.nat(1_000),
          output: fc.nat(1_000),
          account: fc.constantFrom('', 'pool/a', 'pool/b'),
        }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(batches, fc.uuid(), async (lists, run) => {
        const calls = lists.map((list) => list.map(({ id, ...rest }) => eventOf(`${run}-${id}`, rest)));
        for (const events of calls) await record(opened.database, ...events);
        sent.push(...calls.flat());
        expect(await ledgerTotals(opened.database)).toEqual(expectedTotals(sent));
      }),
      { numRuns: 20 },
    );
  });
});

describe('several writers on one Postgres', () => {
  it('add up exactly and do not block each other for good', async () => {
    await using opened = await openTestPostgres();
    const { database } = opened;
    const events = Array.from({ length: 400 }, (_, index) =>
      usedRequest({
        tokenId: `t${index % 7}`,
        model: `m${index % 5}`,
        localDay: `2026-11-${10 + (index % 3)}`,
        accountId: ['', 'pool/a', 'pool/b'][index % 11] ?? '',
      }),
    );
    const shuffled = Array.from({ length: 8 }, () => events.toSorted(() => Math.random() - 0.5));
    await Promise.all(
      shuffled.map(async (list) => {
        for (let start = 0; start < list.length; start += 50) await record(database, ...list.slice(start, start + 50));
      }),
    );
    expect(await ledgerTotals(database)).toEqual(expectedTotals(events));
  });
});

function record(database: GatewayDatabase, ...requests: ReturnType<typeof usedRequest>[]): Promise<number> {
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const service = createUsageIngestService(
    { batchEvents: 3, retentionDays: 90, logRetentionDays: 7 },
    { database },
    runtime,
  );
  return directClientOf(service.routes, UsageIngestService)
    .record({ requests })
    .then(({ recorded }) => recorded);
}

interface EventFields {
  readonly input: number;
  readonly output: number;
  readonly account: string;
}

function eventOf(requestId: string, { input, output, account }: EventFields) {
  return usedRequest({ requestId, inputTokens: input, outputTokens: output, accountId: account });
}

/** Makes the database reject one request id, as it would reject data that violates a constraint. */
async function refuseRequest(database: GatewayDatabase, requestId: string): Promise<void> {
  const name = sql.lit(requestId);
  try {
    await sql`alter table usage_events add constraint refused check (request_id <> ${name})`.execute(database);
  } catch {
    // SQLite can't add a constraint to an existing table; a trigger fails with the same error.
    await sql`create trigger refused before insert on usage_events when new.request_id = ${name}
              begin select raise(abort, 'refused'); end`.execute(database);
  }
}
