import { eventDaysOf, type GatewayDatabase } from '@gateway/database';
import { openTestPostgres, testDatabases } from '@gateway/database/testing';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createIngestMetrics } from '../src/metrics.ts';
import { tendDaysOnce } from '../src/retention/tend-days.ts';
import { createUsageIngestService } from '../src/service.ts';
import { usedRequest } from './usage-fixtures.ts';

const nowMs = Date.parse('2026-11-20T10:00:00Z');
const { signal } = new AbortController();

describe.each(testDatabases)('retention in $name', ({ open }) => {
  it('keeps the events of today and of the days before it, and the sums of all days', async () => {
    await using world = await openWorld(await open(), 31);
    const days = ['2026-08-01', '2026-10-19', '2026-10-20', '2026-11-20'];
    await world.record(...days.map((localDay) => usedRequest({ localDay })));
    await world.tend();
    expect(await eventDays(world.database)).toEqual(['2026-10-20', '2026-11-20']);
    expect(await dailyDays(world.database)).toEqual(days);
    expect(await world.metric('gateway_usage_days_removed_total')).toBe(2);
  });

  it('keeps everything when the setting says so', async () => {
    await using world = await openWorld(await open(), 0);
    await world.record(usedRequest({ localDay: '2001-01-01' }));
    await world.tend();
    expect(await eventDays(world.database)).toEqual(['2001-01-01']);
    expect(await world.record(usedRequest({ localDay: '2001-01-02' }))).toBe(1);
  });

  it('removes a further day when midnight has passed', async () => {
    await using world = await openWorld(await open(), 31);
    await world.record(usedRequest({ localDay: '2026-10-20' }));
    await world.tend();
    world.time.setMs(Date.parse('2026-11-20T23:30:00Z'));
    await world.tend();
    expect(await eventDays(world.database)).toEqual([]);
  });

  it('never counts a repetition anew whose event is gone: it is put aside, with the reason', async () => {
    await using world = await openWorld(await open(), 31);
    const old = usedRequest({ localDay: '2026-10-01' });
    const fresh = usedRequest();
    await world.record(old);
    await world.tend();
    expect(await world.record(old, fresh)).toBe(1);
    const sums = await world.database.selectFrom('usage_daily').select(['local_day', 'requests']).execute();
    expect(sums.toSorted((a, b) => (a.local_day < b.local_day ? -1 : 1))).toEqual([
      { local_day: '2026-10-01', requests: 1 },
      { local_day: '2026-11-20', requests: 1 },
    ]);
    const [letter] = await world.database.selectFrom('dead_letters').select('reason').execute();
    expect(letter?.reason).toContain('USAGE_EVENT_RETENTION_DAYS');
    expect(await world.metric('gateway_usage_events_total', 'dead_letter')).toBe(1);
    expect(await world.metric('gateway_usage_events_total', 'repeated')).toBe(0);
  });

  it('does not take removed days back when the setting is raised', async () => {
    await using world = await openWorld(await open(), 31);
    await world.record(usedRequest({ localDay: '2026-10-01' }));
    await world.tend();
    await using longer = await openWorld({ database: world.database, async [Symbol.asyncDispose]() {} }, 365);
    await longer.tend();
    expect(await longer.record(usedRequest({ localDay: '2026-10-01' }))).toBe(0);
    expect(await longer.record(usedRequest({ localDay: '2026-10-20' }))).toBe(1);
  });

  it('takes events that come late, and those of a clock that is ahead', async () => {
    await using world = await openWorld(await open(), 90);
    await world.tend();
    expect(await world.record(usedRequest({ localDay: '2026-09-01' }), usedRequest({ localDay: '2027-02-01' }))).toBe(
      2,
    );
    expect(await eventDays(world.database)).toEqual(['2026-09-01', '2027-02-01']);
  });
});

describe('an ingest on Postgres', () => {
  it('has room for the coming days before they begin', async () => {
    await using world = await openWorld(await openTestPostgres(), 90);
    await world.tend();
    const { rows } = await sql<{ relname: string }>`
      select relname from pg_class where relname like 'usage_events_2%' and relkind = 'r' order by relname
    `.execute(world.database);
    expect(rows.map(({ relname }) => relname.slice(-10))).toEqual([
      '2026_11_20',
      '2026_11_21',
      '2026_11_22',
      '2026_11_23',
    ]);
  });

  it('counts each event once while several of them meet old, new and removed days', async () => {
    await using opened = await openTestPostgres();
    const shared = { database: opened.database, async [Symbol.asyncDispose]() {} };
    const replicas = await Promise.all(Array.from({ length: 4 }, () => openWorld(shared, 31)));
    const events = Array.from({ length: 300 }, (_, index) =>
      usedRequest({ localDay: `2026-${10 + (index % 2)}-${10 + (index % 20)}` }),
    );
    await Promise.all(
      replicas.map(async (replica, offset) => {
        for (let start = 0; start < events.length; start += 20) {
          if (start === 100 + offset * 20) await replica.tend();
          await replica.record(...events.slice(start, start + 20));
        }
      }),
    );
    const kept = new Set(events.filter(({ localDay }) => localDay >= '2026-10-20').map(({ requestId }) => requestId));
    const stored = await opened.database.selectFrom('usage_events').select('request_id').execute();
    expect(new Set(stored.map(({ request_id }) => request_id))).toEqual(kept);
    // Events of removed days were counted before the removal, or not at all; none was counted
    // twice.
    const { total } = await opened.database
      .selectFrom('usage_daily')
      .select(sql<number>`cast(sum(requests) as bigint)`.as('total'))
      .executeTakeFirstOrThrow();
    expect(total).toBeGreaterThanOrEqual(kept.size);
    expect(total).toBeLessThanOrEqual(events.length);
    const daily = await opened.database.selectFrom('usage_daily').select(['local_day', 'requests']).execute();
    const sent = Map.groupBy(events, ({ localDay }) => localDay);
    for (const { local_day, requests } of daily) {
      expect(requests).toBeLessThanOrEqual(sent.get(local_day)?.length ?? 0);
      if (local_day >= '2026-10-20') expect(requests).toBe(sent.get(local_day)?.length);
    }
  });
});

/** An ingest at ten o'clock on 20 November. The test runs its retention. */
async function openWorld(opened: AsyncDisposable & { readonly database: GatewayDatabase }, retentionDays: number) {
  const { database } = opened;
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const time = new ManualTime(nowMs);
  onTestFinished(() => time[Symbol.dispose]());
  const service = createUsageIngestService(
    { batchEvents: 50, retentionDays, logRetentionDays: 7 },
    { database },
    runtime,
  );
  const metrics = createIngestMetrics(runtime.metrics);
  const days = eventDaysOf(database);
  const client = directClientOf(service.routes, UsageIngestService);
  return {
    database,
    time,
    record: async (...list: ReturnType<typeof usedRequest>[]) => (await client.record({ requests: list })).recorded,
    tend: () => tendDaysOnce({ days, metrics, logger: runtime.logger, retentionDays, signal }),
    async metric(name: string, result?: string) {
      const { values = [] } = (await runtime.metrics.registry.getSingleMetric(name)?.get()) ?? {};
      return values.find(({ labels }) => result === undefined || labels.result === result)?.value;
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

async function eventDays(database: GatewayDatabase): Promise<readonly string[]> {
  const rows = await database.selectFrom('usage_events').select('local_day').distinct().orderBy('local_day').execute();
  return rows.map(({ local_day }) => local_day);
}

async function dailyDays(database: GatewayDatabase): Promise<readonly string[]> {
  const rows = await database.selectFrom('usage_daily').select('local_day').distinct().orderBy('local_day').execute();
  return rows.map(({ local_day }) => local_day);
}
