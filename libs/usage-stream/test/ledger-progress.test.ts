import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { testBackends } from '@gateway/testkit';
import { AckPolicy } from 'nats';
import { describe, expect, it } from 'vitest';
import { connectNats, ensureUsageStream, LedgerProgress, UsagePublisher } from '../src/index.ts';
import { smallStream } from './small-stream.ts';

const watchers = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
const batch = (requestId: string) => [create(RequestRecordedSchema, { requestId })];

describe('the progress of the ledger', () => {
  it('is waited for until what the stream had taken before is acknowledged, and not for what comes later', async () => {
    await using world = await openWorld();
    await expect.poll(() => world.progress.untilRecorded(1_000).then(() => 'all', String)).toBe('all');
    await world.publisher.publish(batch('before'));
    await expect(world.progress.untilRecorded(100)).rejects.toThrow();
    let isOver = false;
    const waiting = world.progress.untilRecorded(10_000).then(() => {
      isOver = true;
    });
    // NATS answers this after the read above, on the same connection, so everything published from
    // here on is later.
    await expect(world.progress.untilRecorded(100)).rejects.toThrow();
    const first = await world.next();
    await world.publisher.publish(batch('after'));
    await world.next();
    expect(isOver).toBe(false);
    first?.ack();
    await waiting;
  });

  it('is not known without NATS, and says so at once', async () => {
    await using progress = new LedgerProgress({ urls: ['nats://127.0.0.1:9'] }, watchers);
    await expect(progress.untilRecorded(10_000)).rejects.toThrow('no connection');
  });
});

async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const { natsUrl } = await testBackends();
  const id = randomUUID();
  const names = { stream: `USAGE-${id}`, subject: `usage.${id}`, consumer: 'usage-ingest' };
  const connection = await connectNats({ urls: [natsUrl] }, watchers);
  stack.defer(() => connection.close());
  const manager = await connection.jetstreamManager();
  await ensureUsageStream(manager, smallStream, names);
  stack.defer(async () => void (await manager.streams.delete(names.stream)));
  await manager.consumers.add(names.stream, { durable_name: names.consumer, ack_policy: AckPolicy.Explicit });
  const consumer = await connection.jetstream().consumers.get(names.stream, names.consumer);
  const publisher = stack.use(new UsagePublisher({ urls: [natsUrl] }, watchers, { names }));
  const progress = stack.use(new LedgerProgress({ urls: [natsUrl] }, watchers, names));
  const open = stack.move();
  return { publisher, progress, next: () => consumer.next(), [Symbol.asyncDispose]: () => open.disposeAsync() };
}
