import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { create, toBinary } from '@bufbuild/protobuf';
import { RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { LedgerOutcome, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { createLogger, Metrics, SpanKind, startSpan, startTracing, traceparentOf, withSpan } from '@gateway/telemetry';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { TestEdge, usageEvent } from './__fixtures__/test-edge.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('what the outbox knows of the trace and the end of a request', () => {
  let tracing: AsyncDisposable | undefined;
  let folder: string;
  let ledger: FakeLedger;
  const startEdge = () => TestEdge.start({ folder, sink: ledger });

  beforeAll(async () => {
    const options = { service: 'test', logger: createLogger('test', 'silent'), metrics: new Metrics() };
    tracing = await startTracing(options, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  });
  afterAll(() => tracing?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outbox-'));
    ledger = new FakeLedger();
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** The span of a request with this sampling decision. */
  const requestSpan = (flags: '00' | '01') =>
    startSpan('POST /v1/messages', { kind: SpanKind.SERVER, traceparent: `00-${trace}-00f067aa0ba902b7-${flags}` });

  it('is the sampled trace in which the request was first noted', async () => {
    await using edge = await startEdge();
    const span = requestSpan('01');
    const event = usageEvent('r1', LedgerOutcome.UNSPECIFIED);
    withSpan(span, () => edge.outbox.open(event));
    withSpan(requestSpan('01'), () => edge.outbox.open(event));
    await edge.outbox.finish(event);
    expect(ledger.rows.get('r1')?.traceparent).toBe(traceparentOf(span));
    expect(traceparentOf(span)).toContain(trace);
  });

  it('is nothing of a trace that is not sampled, nor without one', async () => {
    await using edge = await startEdge();
    await withSpan(requestSpan('00'), () => edge.outbox.finish(usageEvent('r1')));
    await edge.outbox.finish(usageEvent('r2'));
    expect([...ledger.rows.values()].map(({ traceparent }) => traceparent)).toEqual(['', '']);
  });

  it('outlives the process, of requests that ended and of those that were cut off', async () => {
    ledger.away = true;
    const killed = await startEdge();
    const span = requestSpan('01');
    await withSpan(span, async () => {
      killed.outbox.open(usageEvent('cut', LedgerOutcome.UNSPECIFIED));
      killed.outbox.log(create(RequestLoggedSchema, { requestId: 'done' }));
      await killed.outbox.finish(usageEvent('done'));
    });
    const endedMs = Date.now();
    await killed.kill();
    await expect.poll(() => Date.now()).toBeGreaterThan(endedMs + 30);
    ledger.away = false;
    await using _next = await startEdge();
    await expect.poll(() => ledger.rows.size).toBe(2);
    for (const { traceparent, endedAtMs } of ledger.rows.values()) {
      expect(traceparent).toBe(traceparentOf(span));
      expect(endedAtMs).toBeGreaterThan(endedMs - 5_000);
      expect(endedAtMs).toBeLessThanOrEqual(endedMs);
    }
    await expect.poll(() => ledger.logs.has('done')).toBe(true);
  });

  it('is when its row was written, of a file whose events say neither', async () => {
    const event = toBinary(UsageRecordedSchema, usageEvent('r1'));
    const file = new DatabaseSync(join(folder, 'old.sqlite'));
    file.exec(`CREATE TABLE rows (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, written_ms INTEGER NOT NULL, event BLOB NOT NULL);
      PRAGMA user_version = 2;`);
    file.prepare('INSERT INTO rows VALUES (1, ?, ?, ?)').run('usage', 1_763_640_000_000, event);
    file.close();
    await using edge = await startEdge();
    await expect.poll(() => ledger.rows.has('r1')).toBe(true);
    const { endedAtMs, ...row } = ledger.rows.get('r1') ?? usageEvent('none');
    expect(endedAtMs).toBe(1_763_640_000_000);
    expect(row).toMatchObject({ traceparent: '', outcome: LedgerOutcome.COMPLETED, inputTokens: 3 });
    expect(edge.seen.damaged).toEqual([]);
  });
});
