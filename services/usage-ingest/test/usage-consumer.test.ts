import { randomUUID } from 'node:crypto';
import { createLogger, Metrics } from '@gateway/telemetry';
import { testBackends } from '@gateway/testkit';
import { connectNats } from '@gateway/usage-stream';
import { expect, it } from 'vitest';
import { readUsageStreamConfig } from '../src/config.ts';
import { openUsageConsumer } from '../src/consumer/stream-keeper.ts';

it('the durable consumer is named once, and again only when its settings are others', async () => {
  const { natsUrl } = await testBackends();
  const connection = await connectNats(
    { urls: [natsUrl] },
    { logger: createLogger('test', 'silent'), metrics: new Metrics() },
  );
  const id = randomUUID();
  const names = { stream: `USAGE-${id}`, subject: `usage.${id}`, consumer: 'usage-ingest' };
  const { stream: settings } = readUsageStreamConfig({});
  const named: string[] = [];
  connection.subscribe('$JS.API.CONSUMER.>', {
    callback: (_, { subject }) => void (/CREATE/.test(subject) && subject.includes(id) && named.push(subject)),
  });
  const open = async () => {
    const consumer = await openUsageConsumer(connection, settings, names);
    await connection.flush();
    return (await consumer.info()).config;
  };
  const manager = await connection.jetstreamManager();
  try {
    const made = await open();
    expect(named).toHaveLength(1);
    // NATS leaves a consumer with one replica if it is updated while its stream gets more.
    expect(await open()).toEqual(made);
    expect(named).toHaveLength(1);
    await manager.consumers.update(names.stream, names.consumer, { ...made, max_ack_pending: 10 });
    expect(await open()).toEqual(made);
    expect(named).toHaveLength(3);
  } finally {
    await manager.streams.delete(names.stream);
    await connection.close();
  }
});
