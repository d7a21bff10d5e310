import { create } from '@bufbuild/protobuf';
import { openTestSqlite } from '@gateway/database/testing';
import { type RequestRecorded, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createIngestMetrics } from '../metrics.ts';
import { UsageLedger } from '../store/usage-ledger.ts';
import { LogBatches } from './log-batches.ts';

describe('entries of the request log', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('are stored together, a quarter of a second after the first', async () => {
    const { batches, stored } = batchesOn();
    await batches.add(entries(1));
    await vi.advanceTimersByTimeAsync(200);
    await batches.add(entries(2));
    await vi.advanceTimersByTimeAsync(49);
    expect(stored).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(stored).toEqual([3]);
    await batches.add(entries(1));
    await vi.advanceTimersByTimeAsync(250);
    expect(stored).toEqual([3, 1]);
  });

  it('are stored at once when there are many, and when the process stops', async () => {
    const { batches, stored } = batchesOn();
    await batches.add(entries(249));
    await batches.add(entries(1));
    await batches.add(entries(3));
    expect(stored).toEqual([250]);
    await batches[Symbol.asyncDispose]();
    expect(stored).toEqual([250, 3]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('wait here while the database is away, and stay with their senders from its first failure on', async () => {
    const { batches, stored, database } = batchesOn();
    database.isAway = true;
    await batches.add(entries(2));
    await vi.advanceTimersByTimeAsync(1_000);
    await expect(batches.add(entries(5))).rejects.toThrow('away');
    database.isAway = false;
    await batches.add(entries(5));
    expect(stored).toEqual([2]);
    await batches[Symbol.asyncDispose]();
    expect(stored).toEqual([2, 5]);
  });

  it('wait for those before them when the database does not keep up', async () => {
    const { batches, stored, database } = batchesOn();
    const { promise, resolve } = Promise.withResolvers<void>();
    database.until = promise;
    await batches.add(entries(250));
    await batches.add(entries(2_500));
    const added = vi.fn();
    const adding = batches.add(entries(1)).then(added);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(added).not.toHaveBeenCalled();
    resolve();
    await adding;
    await batches[Symbol.asyncDispose]();
    expect(stored).toEqual([250, 2_501]);
  });
});

it('an entry that the database rejects is dropped alone, and counted', async () => {
  await using opened = await openTestSqlite();
  await sql`create trigger refused before insert on request_log when new.request_id = 'r1'
            begin select raise(abort, 'refused'); end`.execute(opened.database);
  const metrics = new Metrics();
  const logger = createLogger('test', 'silent');
  const batches = new LogBatches({
    ledger: new UsageLedger(opened.database),
    metrics: createIngestMetrics(metrics),
    logger,
  });
  await batches.add(entries(3));
  await batches[Symbol.asyncDispose]();
  const rows = await opened.database.selectFrom('request_log').select('request_id').execute();
  expect(rows.map(({ request_id }) => request_id)).toEqual(['r0', 'r2']);
  expect(await metrics.exposition()).toContain('gateway_usage_request_log_refused_total 1');
});

/** Batches for a database that notes how many entries each of them has. */
function batchesOn() {
  const stored: number[] = [];
  const database = { isAway: false, until: Promise.resolve() };
  const ledger = {
    addLogs: async (logs: readonly RequestRecorded[]) => {
      if (database.isAway) throw new Error('away');
      await database.until;
      stored.push(logs.length);
    },
  };
  const logger = createLogger('test', 'silent');
  return { batches: new LogBatches({ ledger, metrics: createIngestMetrics(new Metrics()), logger }), stored, database };
}

function entries(count: number): readonly RequestRecorded[] {
  const receivedAtMs = Date.parse('2026-11-20T10:00:00Z');
  return Array.from({ length: count }, (_, n) => create(RequestRecordedSchema, { requestId: `r${n}`, receivedAtMs }));
}
