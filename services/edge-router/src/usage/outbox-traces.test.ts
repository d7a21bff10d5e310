import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { createLogger, Metrics, SpanKind, startSpan, startTracing, traceparentOf, withSpan } from '@gateway/telemetry';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { ended, refusedRow, requestRow, TestEdge } from './__fixtures__/test-edge.ts';
import { encoded } from './outbox-row.ts';

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
    const row = requestRow('r1', RequestEnding.UNSPECIFIED);
    withSpan(span, () => edge.outbox.open(row));
    withSpan(requestSpan('01'), () => edge.outbox.open(row));
    await withSpan(requestSpan('01'), () => edge.outbox.finish(ended(row)));
    expect(ledger.rows.get('r1')?.traceparent).toBe(traceparentOf(span));
    expect(traceparentOf(span)).toContain(trace);
  });

  it('is nothing of a trace that is not sampled, nor without one', async () => {
    await using edge = await startEdge();
    await withSpan(requestSpan('00'), () => edge.outbox.finish(requestRow('r1')));
    await edge.outbox.finish(requestRow('r2'));
    expect([...ledger.rows.values()].map(({ traceparent }) => traceparent)).toEqual(['', '']);
  });

  it('outlives the process, of requests that ended and of those that were cut off', async () => {
    ledger.away = true;
    const killed = await startEdge();
    const span = requestSpan('01');
    await withSpan(span, async () => {
      killed.outbox.open(requestRow('cut', RequestEnding.UNSPECIFIED));
      killed.outbox.log(refusedRow('refused'));
      await killed.outbox.finish(requestRow('done'));
    });
    const endedMs = Date.now();
    await killed.kill();
    await expect.poll(() => Date.now()).toBeGreaterThan(endedMs + 30);
    ledger.away = false;
    await using _next = await startEdge();
    await expect.poll(() => ledger.rows.size).toBe(2);
    await expect.poll(() => ledger.logs.has('refused')).toBe(true);
    expect([...ledger.rows.values()].map(({ traceparent }) => traceparent)).toEqual(
      Array.from({ length: 2 }, () => traceparentOf(span)),
    );
    expect(ledger.logs.get('refused')?.traceparent).toBe('');
    for (const { endedAtMs } of [...ledger.rows.values(), ...ledger.logs.values()]) {
      expect(endedAtMs).toBeGreaterThan(endedMs - 5_000);
      expect(endedAtMs).toBeLessThanOrEqual(endedMs);
    }
  });

  it('is when its row was written, of a file whose records say neither', async () => {
    const file = new DatabaseSync(join(folder, 'old.sqlite'));
    file.exec(`CREATE TABLE rows (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, written_ms INTEGER NOT NULL, record BLOB NOT NULL);
      PRAGMA user_version = 3;`);
    file
      .prepare('INSERT INTO rows VALUES (1, ?, ?, ?)')
      .run('final', 1_763_640_000_000, encoded(requestRow('r1').record));
    file.close();
    await using edge = await startEdge();
    await expect.poll(() => ledger.rows.has('r1')).toBe(true);
    const { endedAtMs, ...row } = ledger.rows.get('r1') ?? requestRow('none').record;
    expect(endedAtMs).toBe(1_763_640_000_000);
    expect(row).toMatchObject({
      traceparent: '',
      ending: RequestEnding.COMPLETED,
      attempts: [{ usage: { inputTokens: 3 } }],
    });
    expect(edge.seen.damaged).toEqual([]);
  });
});
