import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { createLogger, Metrics, startTracing } from '@gateway/telemetry';
import { OtlpReceiver } from '@gateway/telemetry/testing';
import { freePort, startNats, testBackends } from '@gateway/testkit';
import { describe, expect, it, vi } from 'vitest';
import { connectNats, ensureUsageStream, UsagePublisher } from '../src/index.ts';
import { smallStream } from './small-stream.ts';

const logger = createLogger('test', 'silent');

describe('publishing usage', () => {
  it('is a span of the traces that are sampled, which goes with the message', async () => {
    await using world = await openWorld();
    const [first, second] = [traceparent(), traceparent()];
    await world.publish(first, '', second, second);
    const [span] = await world.receiver.until((spans) => spans.length > 0);
    expect(span).toMatchObject({
      name: `publish ${world.names.stream}`,
      kind: 'producer',
      ...idsOf(first, 'parentSpanId'),
      links: [idsOf(first, 'spanId'), idsOf(second, 'spanId')],
      attributes: {
        'messaging.system': 'nats',
        'messaging.operation.name': 'publish',
        'messaging.operation.type': 'send',
      },
    });
    expect(await world.headerOfLast()).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
  });

  it('is linked with so many traces only, however many there are', async () => {
    await using world = await openWorld();
    await world.publish(...Array.from({ length: 150 }, traceparent));
    const [span] = await world.receiver.until((spans) => spans.length > 0);
    expect(span?.links).toHaveLength(100);
    expect(span?.attributes['messaging.batch.message_count']).toBe(150);
  });

  it('is no span, and sends no header, when no trace is sampled', async () => {
    await using world = await openWorld();
    await world.publish('', '');
    await world.publish(traceparent());
    await world.receiver.until((spans) => spans.length > 0);
    expect(world.receiver.spans).toHaveLength(1);
    expect(await world.headerOfFirst()).toBe('');
  });

  it('is measured, with the reason when it fails', async () => {
    await using world = await openWorld();
    await world.publish('');
    await using lost = new UsagePublisher({ urls: [world.url] }, world, {
      names: { ...world.names, subject: `nobody.${randomUUID()}` },
    });
    await expect(lost.publish([usage('')])).rejects.toThrow();
    const text = await world.metrics.exposition();
    const labels = `messaging_system="nats",messaging_operation_name="publish"`;
    const stream = `messaging_destination_name="${world.names.stream}"`;
    expect(text).toContain(`messaging_client_operation_duration_seconds_count{${labels},error_type="",${stream}} 1`);
    expect(text).toContain(`messaging_client_operation_duration_seconds_count{${labels},error_type="503",${stream}} 1`);
  });
});

describe('a connection to NATS', () => {
  it('says whether there is one, from the first try on', async () => {
    const metrics = new Metrics();
    const isUp = async () => /gateway_backend_up\{backend="nats"\} (\d)/.exec(await metrics.exposition())?.[1];
    const port = await freePort();
    const connecting = connectNats({ urls: [`nats://127.0.0.1:${port}`] }, { logger, metrics });
    await expect.poll(isUp).toBe('0');
    const server = await startNats({ port });
    const connection = await connecting;
    expect(await isUp()).toBe('1');
    await server[Symbol.asyncDispose]();
    await expect.poll(isUp).toBe('0');
    await using _again = await startNats({ port });
    await expect.poll(isUp).toBe('1');
    await connection.close();
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
  const { natsUrl: url } = await testBackends();
  const id = randomUUID();
  const names = { stream: `USAGE-${id}`, subject: `usage.${id}`, consumer: 'usage-ingest' };
  const connection = await connectNats({ urls: [url] }, { logger, metrics });
  stack.defer(() => connection.close());
  const manager = await connection.jetstreamManager();
  await ensureUsageStream(manager, smallStream, names);
  stack.defer(async () => void (await manager.streams.delete(names.stream)));
  const publisher = stack.use(new UsagePublisher({ urls: [url] }, { logger, metrics }, { names }));
  const headerOf = async (message: Parameters<typeof manager.streams.getMessage>[1]) =>
    (await manager.streams.getMessage(names.stream, message)).header?.get('traceparent');
  const opened = stack.move();
  return {
    url,
    names,
    logger,
    metrics,
    receiver,
    publish: (...traceparents: readonly string[]) => publisher.publish(traceparents.map(usage)),
    headerOfFirst: () => headerOf({ seq: 1 }),
    headerOfLast: () => headerOf({ last_by_subj: names.subject }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function usage(traceparent: string) {
  return create(RequestRecordedSchema, { requestId: randomUUID(), traceparent });
}

/** The `traceparent` of a sampled trace. */
function traceparent(): string {
  return `00-${randomUUID().replaceAll('-', '')}-${randomUUID().replaceAll('-', '').slice(16)}-01`;
}

function idsOf<K extends string>(traceparent: string, spanKey: K) {
  const [, traceId, spanId] = traceparent.split('-');
  return { traceId, [spanKey]: spanId };
}
