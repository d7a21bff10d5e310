import { randomUUID } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import type { GatewayDatabase } from '@gateway/database';
import { openTestSqlite } from '@gateway/database/testing';
import { type RequestRecorded, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { createLogger, inSpan, Metrics, SpanKind, startTracing } from '@gateway/telemetry';
import { OtlpReceiver } from '@gateway/telemetry/testing';
import { ManualTime } from '@gateway/time/simulated';
import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { afterGivingUp, usedRequest } from '../../test/usage-fixtures.ts';
import { createIngestMetrics } from '../metrics.ts';
import { UsageLedger } from '../store/usage-ledger.ts';
import { LedgerWriter } from './ledger-writer.ts';

const nowMs = Date.parse('2026-11-20T10:00:30Z');

describe('writing to the ledger', () => {
  it('stores events in transactions of limited size, in order, and the request log later', async () => {
    await using world = await openWorld();
    const events = Array.from({ length: 7 }, (_, n) => usedRequest({ requestId: `r${n}` }));
    expect(await world.writer.record([logEntry('l1'), ...events, logEntry('l2')])).toBe(7);
    expect(world.transactions()).toEqual([['r0', 'r1', 'r2'], ['r3', 'r4', 'r5'], ['r6']]);
    expect(await world.count('request_log')).toBe(0);
    expect(await world.writer.record(events.slice(0, 3))).toBe(0);
    await world.writer.logs[Symbol.asyncDispose]();
    expect(await world.count('request_log')).toBe(2);
  });

  it('counts requests as recorded, repeated or put aside', async () => {
    await using world = await openWorld();
    const [first, second] = [usedRequest(), usedRequest()];
    await world.writer.record([first, second, usedRequest({ localDay: 'tomorrow' })]);
    await world.writer.record([second, usedRequest()]);
    expect(await world.results()).toEqual({ recorded: 3, repeated: 1, dead_letter: 1 });
  });

  it('stores and counts a request once, whichever of its attempts used something', async () => {
    await using world = await openWorld();
    const request = afterGivingUp(usedRequest({ requestId: 'r', endedAtMs: nowMs }), usedRequest(), usedRequest());
    const others = Array.from({ length: 3 }, (_, n) => usedRequest({ requestId: `r${n}` }));
    expect(await world.writer.record([request, ...others])).toBe(4);
    expect(world.transactions()).toEqual([['r/1', 'r/2', 'r', 'r0', 'r1'], ['r2']]);
    expect(await world.writer.record([request])).toBe(0);
    await world.ledger.days.removeBefore('2026-11-21', new AbortController().signal);
    expect(await world.writer.record([request])).toBe(0);
    expect(await world.results()).toEqual({ recorded: 4, repeated: 1, dead_letter: 1 });
    expect(await world.metrics.exposition()).toContain('gateway_usage_event_age_seconds_count 1');
  });

  it('puts a request aside that has neither usage nor an entry of the log, such as that of unrelated bytes', async () => {
    await using world = await openWorld();
    const empty = create(RequestRecordedSchema, { requestId: 'empty', tokenId: 't' });
    expect(await world.writer.record([empty])).toBe(0);
    expect(await world.letters()).toMatchObject([{ payload: payloadOf(empty) }]);
  });

  it('puts bytes aside that cannot be parsed, once, with the reason and a note in the log', async () => {
    using _ = new ManualTime(nowMs);
    await using world = await openWorld();
    for (const reason of ['not a message', 'again']) await world.writer.bury(Buffer.from('abc'), reason);
    expect(await world.letters()).toEqual([
      {
        dead_letter_id: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
        received_at_ms: nowMs,
        reason: 'not a message',
        payload: 'YWJj',
      },
    ]);
    expect(world.errors.mock.calls[0]).toEqual([
      {
        dead_letter_id: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
        reason: 'not a message',
      },
      'usage cannot be recorded: moved to dead_letters',
    ]);
    expect(await world.results()).toMatchObject({ dead_letter: 2 });
  });

  it('puts an event of a day that is no longer kept aside, and counts it as neither new nor repeated', async () => {
    await using world = await openWorld();
    await world.ledger.days.removeBefore('2026-11-20', new AbortController().signal);
    const old = usedRequest({ localDay: '2026-11-19' });
    expect(await world.writer.record([old, usedRequest()])).toBe(1);
    expect(await world.results()).toEqual({ recorded: 1, repeated: 0, dead_letter: 1 });
    expect(await world.letters()).toMatchObject([
      {
        reason: 'events of its day are no longer kept (USAGE_EVENT_RETENTION_DAYS), so it may already be counted',
        payload: payloadOf(old),
      },
    ]);
  });

  it('puts the event aside that the database rejects, and stores the others and the log once', async () => {
    await using world = await openWorld();
    await world.refuse('refused');
    const refused = usedRequest({ requestId: 'refused' });
    expect(await world.writer.record([usedRequest(), refused, usedRequest()])).toBe(2);
    expect(await world.letters()).toMatchObject([{ reason: 'the database rejects it', payload: payloadOf(refused) }]);
    expect(await world.results()).toEqual({ recorded: 2, repeated: 0, dead_letter: 1 });
    expect(world.transactions().slice(1)).toHaveLength(3);
  });

  it('rejects when the database is away, so that the call is repeated, and puts nothing aside', async () => {
    await using world = await openWorld();
    await world.database.schema.alterTable('usage_daily').renameTo('elsewhere').execute();
    await expect(world.writer.record([usedRequest()])).rejects.toThrow('usage_daily');
    await world.database.schema.alterTable('elsewhere').renameTo('usage_daily').execute();
    expect(await world.letters()).toEqual([]);
    expect(await world.count('usage_events')).toBe(0);
  });
});

describe('the trace of a request on its way into the ledger', () => {
  it('has the row also when it could not be stored at first, and says so', async () => {
    await using world = await openWorld();
    await using receiver = await world.trace();
    const event = usedRequest({ traceparent: traceparent() });
    const process = () =>
      inSpan('process', { kind: SpanKind.CONSUMER }, () => world.writer.record([event, usedRequest()]));
    await world.database.schema.alterTable('usage_daily').renameTo('elsewhere').execute();
    await expect(process()).rejects.toThrow();
    await world.database.schema.alterTable('elsewhere').renameTo('usage_daily').execute();
    expect(await process()).toBe(2);
    const spans = await receiver.until((all) => all.length >= 4);
    expect(spans.filter(({ name }) => name === 'record')).toMatchObject([
      { name: 'record', error: 'ERR_SQLITE_ERROR', ...spanOf(event, 'parentSpanId') },
      { name: 'record', error: undefined, ...spanOf(event, 'parentSpanId') },
    ]);
    expect(spans).toHaveLength(4);
  });

  it('has no row where usage goes straight to the ledger: the edge waits for it', async () => {
    await using world = await openWorld();
    await using receiver = await world.trace();
    expect(await world.writer.record([usedRequest({ traceparent: traceparent() })])).toBe(1);
    await inSpan('later', { kind: SpanKind.CONSUMER }, async () => undefined);
    const spans = await receiver.until((all) => all.length >= 1);
    expect(spans.map(({ name }) => name)).toEqual(['later']);
  });

  it('leads to the age of its event when it is recorded, which counts once', async () => {
    using _ = new ManualTime(nowMs);
    await using world = await openWorld();
    await using _receiver = await world.trace();
    const late = usedRequest({ endedAtMs: nowMs - 20_000, traceparent: traceparent() });
    const prompt = usedRequest({ endedAtMs: nowMs - 200 });
    await world.writer.record([late, prompt, late, usedRequest()]);
    await world.writer.record([late, usedRequest({ endedAtMs: nowMs + 5_000 })]);
    const text = await world.metrics.exposition('application/openmetrics-text; version=1.0.0; charset=utf-8');
    const bucket = (le: string) =>
      new RegExp(`gateway_usage_event_age_seconds_bucket\\{le="${le}"\\} (.*)`).exec(text)?.[1];
    expect(bucket('0.1')).toBe('1');
    expect(bucket('0.25')).toBe('2');
    expect(bucket('10.0') ?? bucket('10')).toBe('2');
    expect(bucket('30.0') ?? bucket('30')).toMatch(
      new RegExp(`^3 # \\{trace_id="${spanOf(late, 'spanId').traceId}"\\}`),
    );
    expect(text).toContain('gateway_usage_event_age_seconds_count 3');
    expect(Number(/gateway_usage_event_age_seconds_sum (.*)/.exec(text)?.[1])).toBeCloseTo(20.2);
  });
});

/** A writer of at most three requests at a time. */
async function openWorld() {
  const opened = await openTestSqlite();
  const { database } = opened;
  const metrics = new Metrics();
  const logger = createLogger('test', 'silent');
  const errors = vi.spyOn(logger, 'error');
  const ledger = new UsageLedger(database);
  const recording = vi.spyOn(ledger, 'add');
  const metric = async (line: string) =>
    Number(
      (await metrics.exposition())
        .split('\n')
        .find((text) => text.startsWith(`${line} `))
        ?.slice(line.length),
    );
  return {
    ...{ database, metrics, ledger, errors },
    writer: new LedgerWriter({
      ...{ ledger, logger, batchEvents: 3 },
      metrics: createIngestMetrics(metrics),
    }),
    /** The ids of all events that the ledger was asked to store together. */
    transactions: () => recording.mock.calls.map(([entries]) => entries.map(({ request_id }) => request_id)),
    async results() {
      const names = ['recorded', 'repeated', 'dead_letter'];
      const values = names.map((name) => metric(`gateway_usage_events_total{result="${name}"}`));
      return Object.fromEntries((await Promise.all(values)).map((value, n) => [names[n], value]));
    },
    letters: () => database.selectFrom('dead_letters').selectAll().execute(),
    count: async (table: 'request_log' | 'usage_events') =>
      (await database.selectFrom(table).select('request_id').execute()).length,
    refuse: (requestId: string) => refuseIn(database, requestId),
    trace: async () => await receiverOfTraces(metrics),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

/** Makes the database reject one request id, as it would reject data that violates a constraint. */
async function refuseIn(database: GatewayDatabase, requestId: string): Promise<void> {
  await sql`create trigger refused before insert on usage_events when new.request_id = ${sql.lit(requestId)}
            begin select raise(abort, 'refused'); end`.execute(database);
}

/** Records the spans of this process until it is disposed. */
async function receiverOfTraces(metrics: Metrics) {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await OtlpReceiver.listen());
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
  vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '20');
  stack.defer(() => void vi.unstubAllEnvs());
  stack.use(await startTracing({ service: 'test', logger: createLogger('test', 'silent'), metrics }));
  const opened = stack.move();
  return {
    until: receiver.until.bind(receiver),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function logEntry(requestId: string) {
  return create(RequestRecordedSchema, { requestId, tokenId: 't', receivedAtMs: nowMs });
}

function payloadOf(event: RequestRecorded): string {
  return Buffer.from(toBinary(RequestRecordedSchema, event)).toString('base64');
}

/** The `traceparent` of a sampled trace. */
function traceparent(): string {
  return `00-${randomUUID().replaceAll('-', '')}-${randomUUID().replaceAll('-', '').slice(16)}-01`;
}

/** The trace of an event, and the span that it names. */
function spanOf<K extends string>({ traceparent }: RequestRecorded, spanKey: K) {
  const [, traceId, spanId] = traceparent.split('-');
  return { traceId, [spanKey]: spanId };
}
