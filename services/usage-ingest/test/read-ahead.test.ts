import { randomUUID } from 'node:crypto';
import { createLogger, Metrics } from '@gateway/telemetry';
import { testBackends } from '@gateway/testkit';
import { connectNats, ensureUsageStream } from '@gateway/usage-stream';
import type { Consumer } from 'nats';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readUsageStreamConfig } from '../src/config.ts';
import { ReadAhead } from '../src/consumer/read-ahead.ts';
import { openUsageConsumer } from '../src/consumer/stream-keeper.ts';

const settings = readUsageStreamConfig({}).stream;

describe('reading ahead of a consumer', () => {
  const stored: number[] = [];
  let hasLeader: boolean;
  let ahead: ReadAhead;
  let publish: (...numbers: readonly number[]) => Promise<void>;
  let purge: (upTo: number) => Promise<unknown>;
  let takeAll: () => Promise<void>;
  let resources: AsyncDisposableStack;

  beforeEach(async () => {
    stored.length = 0;
    hasLeader = false;
    resources = new AsyncDisposableStack();
    const connection = await connectNats(
      { urls: [(await testBackends()).natsUrl] },
      { logger: createLogger('test', 'silent'), metrics: new Metrics() },
    );
    resources.defer(() => connection.close());
    const id = randomUUID();
    const names = { stream: `USAGE-${id}`, subject: `usage.${id}`, consumer: 'usage-ingest' };
    const manager = await connection.jetstreamManager();
    await ensureUsageStream(manager, settings, names);
    resources.defer(() => manager.streams.delete(names.stream).then(() => undefined));
    const consumer = await openUsageConsumer(connection, settings, names);
    const info: Consumer['info'] = (cached) =>
      hasLeader || cached ? consumer.info(cached) : Promise.reject(new Error('TIMEOUT'));
    ahead = new ReadAhead(
      connection,
      new Proxy(consumer, { get: (own, name) => (name === 'info' ? info : Reflect.get(own, name)) }),
      names,
    );
    publish = async (...numbers) => {
      for (const number of numbers) await connection.jetstream().publish(names.subject, String(number));
    };
    purge = (upTo) => manager.streams.purge(names.stream, { seq: upTo + 1 });
    takeAll = async () => {
      for await (const message of await consumer.fetch({ max_messages: 1_000, expires: 1_000 })) {
        ahead.onGiven(message.seq);
        await message.ackAck();
      }
      await consumer.info();
    };
  });
  afterEach(() => resources.disposeAsync());

  const store = async (messages: readonly Uint8Array[]) => {
    stored.push(...messages.map((data) => Number(Buffer.from(data))));
  };
  const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

  it('stores each message once that the consumer does not give', async () => {
    await publish(...numbers(1, 120));
    expect(await ahead.readOn(store)).toBe(120);
    await publish(121);
    expect(await ahead.readOn(store)).toBe(1);
    expect(await ahead.readOn(store)).toBe(0);
    expect(stored).toEqual(numbers(1, 121));
  });

  it('leaves them to the consumer while that answers', async () => {
    await publish(1, 2);
    hasLeader = true;
    expect(await ahead.readOn(store)).toBe(0);
    hasLeader = false;
    expect(await ahead.readOn(store)).toBe(2);
  });

  it('begins after what was acknowledged long ago, and where the stream begins', async () => {
    await publish(...numbers(1, 10));
    await takeAll();
    await purge(8);
    await publish(11, 12);
    expect(await ahead.readOn(store)).toBe(2);
    expect(stored).toEqual([11, 12]);
  });

  it('offers again what could not be stored', async () => {
    await publish(1, 2);
    const fail = () => Promise.reject(new Error('the database is away'));
    await expect(ahead.readOn(fail)).rejects.toThrow('the database is away');
    expect(await ahead.readOn(store)).toBe(2);
  });
});
