import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTestSqlite } from '@gateway/database/testing';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { createLogger, Metrics, startTracing } from '@gateway/telemetry';
import { OtlpReceiver } from '@gateway/telemetry/testing';
import { testBackends } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { connectNats, directSubject, ensureUsageStream, toUsageMessages, UsagePublisher } from '@gateway/usage-stream';
import { headers } from 'nats';
import { describe, expect, it, vi } from 'vitest';
import { readUsageStreamConfig } from '../src/config.ts';
import { NatsUsageConsumer, type UsageSink } from '../src/consumer/nats-usage-consumer.ts';
import { openUsageConsumer, tendStream } from '../src/consumer/stream-keeper.ts';
import { createIngestMetrics } from '../src/metrics.ts';
import { LedgerWriter } from '../src/recording/ledger-writer.ts';
import { UsageLedger } from '../src/store/usage-ledger.ts';
import { usedRequest } from './usage-fixtures.ts';

const logger = createLogger('test', 'silent');

describe('the traces of requests on their way into the ledger', () => {
  it('have the batch, which is linked with each, and the row of each', async () => {
    await using world = await openWorld();
    const [first, second] = [usedRequest({ traceparent: traceparent() }), usedRequest({ traceparent: traceparent() })];
    await world.publish(first, usedRequest(), second);
    world.consume();
    const spans = await world.receiver.until((all) => all.length >= 4);
    const published = spans.find(({ name }) => name.startsWith('publish '));
    expect(spans.find(({ name }) => name.startsWith('process '))).toMatchObject({
      name: `process ${world.names.stream}`,
      kind: 'consumer',
      traceId: published?.traceId,
      parentSpanId: published?.spanId,
      links: [first, second].map((event) => spanOf(event, 'spanId')),
      attributes: { 'messaging.operation.name': 'process', 'messaging.destination.name': world.names.stream },
    });
    const records = spans.filter(({ name }) => name === 'record');
    expect(records).toHaveLength(2);
    expect(records).toMatchObject([first, second].map((event) => spanOf(event, 'parentSpanId')));
  });

  it('have the batch also when it comes beside the stream', async () => {
    await using world = await openWorld();
    const event = usedRequest({ traceparent: traceparent() });
    world.consume();
    const [message] = toUsageMessages([event]);
    const sent = headers();
    sent.set('traceparent', event.traceparent.replace(/-[0-9a-f]{16}-/, '-00f067aa0ba902b7-'));
    const ask = () =>
      world.connection.request(directSubject(world.names), message?.data, { timeout: roomMs(2_000), headers: sent });
    await expect.poll(() => ask().then(() => 'stored', String)).toBe('stored');
    const spans = await world.receiver.until((all) => all.length >= 2);
    const { traceId } = spanOf(event, 'spanId');
    const name = `process ${world.names.stream}`;
    expect(spans.find((span) => span.name === name)).toMatchObject({ traceId, parentSpanId: '00f067aa0ba902b7' });
    expect(spans.find((span) => span.name === 'record')).toMatchObject(spanOf(event, 'parentSpanId'));
  });
});

describe('delays on the way into the ledger', () => {
  it('are what the stream holds, how old it is and what replicas have at hand', async () => {
    await using world = await openWorld();
    const reader = await openUsageConsumer(world.connection, world.stream, world.names);
    const seen = async () => {
      await tendStream({ ...world, consumer: reader, maxBytes: 1_000_000, metrics: world.ingestMetrics });
      const names = ['gateway_usage_backlog_messages', 'gateway_usage_ack_pending_messages'];
      const [waiting, atHand] = await Promise.all(names.map(world.valueOf));
      return { waiting, atHand, lagSeconds: await world.valueOf('gateway_ledger_lag_seconds') };
    };
    expect(await seen()).toEqual({ waiting: 0, atHand: 0, lagSeconds: 0 });
    await world.publish(usedRequest());
    const first = await reader.next();
    await sleep(300);
    await world.publish(usedRequest());
    await world.publish(usedRequest());
    const before = await seen();
    expect(before).toMatchObject({ waiting: 2, atHand: 1 });
    expect(before.lagSeconds).toBeGreaterThanOrEqual(0.3);
    await first?.ackAck();
    const after = await seen();
    expect(after).toMatchObject({ waiting: 2, atHand: 0 });
    expect(after.lagSeconds).toBeLessThan(before.lagSeconds);
    expect(after.lagSeconds).toBeGreaterThan(0);
    for (let n = 0; n < 2; n++) await (await reader.next())?.ackAck();
    expect(await seen()).toEqual({ waiting: 0, atHand: 0, lagSeconds: 0 });
  });

  it('have durations of what NATS and the database did', async () => {
    await using world = await openWorld();
    let failures = 0;
    world.consume({
      bury: (...letter) => world.recorder.bury(...letter),
      record: async (...batch) => {
        if (failures++ === 0) throw new TypeError('once');
        return world.recorder.record(...batch);
      },
    });
    await world.publish(usedRequest());
    const count = (metric: string, operation: string, error = '') => {
      const labels = `messaging_system="nats",messaging_operation_name="${operation}",error_type="${error}"`;
      return world.valueOf(`${metric}_count{${labels},messaging_destination_name="${world.names.stream}"}`);
    };
    await expect.poll(() => count('messaging_process_duration_seconds', 'process')).toBe(1);
    expect(await count('messaging_process_duration_seconds', 'process', 'TypeError')).toBe(1);
    const client = 'messaging_client_operation_duration_seconds';
    await expect.poll(() => count(client, 'ack')).toBeGreaterThan(1);
    expect(await count(client, 'fetch')).toBeGreaterThan(0);
    expect(await count(client, 'publish')).toBe(1);
  });
});

async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const metrics = new Metrics();
  const receiver = stack.use(await OtlpReceiver.listen());
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
  vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '20');
  stack.defer(() => void vi.unstubAllEnvs());
  stack.use(await startTracing({ service: 'test', logger, metrics }));
  const { natsUrl } = await testBackends();
  const id = randomUUID();
  const names = { stream: `USAGE-${id}`, subject: `usage.${id}`, consumer: 'usage-ingest' };
  const { database } = stack.use(await openTestSqlite());
  const ingestMetrics = createIngestMetrics(metrics);
  const recorder = new LedgerWriter({
    ledger: new UsageLedger(database),
    metrics: ingestMetrics,
    logger,
    batchEvents: 50,
  });
  const wiring = { servers: { urls: [natsUrl] }, stream: readUsageStreamConfig({}).stream, names, logger, metrics };
  const connection = await connectNats(wiring.servers, wiring);
  stack.defer(() => connection.close());
  const manager = await connection.jetstreamManager();
  await ensureUsageStream(manager, wiring.stream, names);
  stack.defer(async () => void (await manager.streams.delete(names.stream)));
  const consumer = new NatsUsageConsumer({ ...wiring, batchEvents: 50 });
  const publisher = stack.use(new UsagePublisher(wiring.servers, wiring, { names }));
  const opened = stack.move();
  return {
    ...wiring,
    connection,
    ingestMetrics,
    receiver,
    database,
    recorder,
    consume(sink: UsageSink = recorder): void {
      opened.use(consumer);
      consumer.start(sink);
    },
    publish: (...requests: readonly RequestRecorded[]) => publisher.publish(requests),
    /** The value on a line of the metrics; 0 when the line is missing. */
    async valueOf(line: string): Promise<number> {
      const lines = (await metrics.exposition()).split('\n');
      return Number(lines.find((text) => text.startsWith(`${line} `))?.slice(line.length + 1) ?? 0);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
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
