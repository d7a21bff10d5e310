import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayDatabase } from '@gateway/database';
import { openTestPostgres } from '@gateway/database/testing';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { freePort, startNats, startNatsCluster, testBackends } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { connectNats, directSubject, ensureUsageStream, toUsageMessages, UsagePublisher } from '@gateway/usage-stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readUsageStreamConfig } from '../src/config.ts';
import { NatsUsageConsumer, type UsageSink } from '../src/consumer/nats-usage-consumer.ts';
import { tendStream } from '../src/consumer/stream-keeper.ts';
import { createIngestMetrics } from '../src/metrics.ts';
import { dailySums } from '../src/recording/ledger-entry.ts';
import { LedgerWriter } from '../src/recording/ledger-writer.ts';
import { addSums, UsageLedger } from '../src/store/usage-ledger.ts';
import { expectedTotals, ledgerTotals, usedRequest } from './usage-fixtures.ts';

const logger = createLogger('test', 'silent');
const watchers = { logger, metrics: new Metrics() };
const metrics = createIngestMetrics(watchers.metrics);

describe('the consumer of the usage stream', () => {
  it('brings what is published into the ledger and acknowledges it', async () => {
    await using world = await openWorld();
    world.consume();
    const sent = Array.from({ length: 30 }, () => usedRequest());
    await world.publisher.publish(sent);
    await world.recordsExactly(sent);
  });

  it('adds up exactly with several replicas, whatever is repeated, split or out of order', async () => {
    await using world = await openWorld();
    for (let replica = 0; replica < 3; replica++) world.consume();
    const pool = Array.from({ length: 200 }, (_, index) =>
      usedRequest({ tokenId: `t${index % 5}`, model: `m${index % 3}`, inputTokens: index }),
    );
    const batch = fc.array(fc.nat(pool.length - 1), { minLength: 1, maxLength: 40 });
    const [batches = []] = fc.sample(fc.array(batch, { minLength: 40, maxLength: 60, size: 'max' }), 1);
    const sent = batches.map((indexes) => indexes.flatMap((index) => pool[index] ?? []));
    for (const list of sent) for (const message of toUsageMessages(list)) await world.publishRaw(message.data);
    await world.recordsExactly(sent.flat());
  });

  it('puts a message that it cannot understand aside, and goes on', async () => {
    await using world = await openWorld();
    const [before, after] = [usedRequest(), usedRequest()];
    await world.publisher.publish([before]);
    await world.publishRaw(Buffer.from('not a message'));
    await world.publishRaw(Buffer.from('not a message'));
    await world.publisher.publish([after, usedRequest({ tokenId: '' })]);
    world.consume();
    await world.recordsExactly([before, after]);
    const letters = await world.database.selectFrom('dead_letters').select(['payload', 'reason']).execute();
    expect(letters).toHaveLength(2);
    expect(letters.map(({ payload }) => Buffer.from(payload, 'base64').toString())).toContain('not a message');
  });

  it('counts once what was committed but not acknowledged', async () => {
    await using world = await openWorld();
    let commits = 0;
    world.consume({
      ...world.sink,
      record: async (batch) => {
        const fresh = await world.sink.record(batch);
        commits++;
        if (commits <= 2) throw new Error('died after the commit');
        return fresh;
      },
    });
    const sent = Array.from({ length: 10 }, () => usedRequest());
    await world.publishOneByOne(sent);
    await world.recordsExactly(sent);
    expect(commits).toBeGreaterThan(2);
  });

  it('loses nothing while the database is away, and asks for little meanwhile', async () => {
    await using world = await openWorld();
    let away = true;
    let attempts = 0;
    world.consume({
      ...world.sink,
      record: async (batch) => {
        attempts++;
        if (away) throw new Error('connection refused');
        return await world.sink.record(batch);
      },
    });
    const sent = Array.from({ length: 100 }, () => usedRequest());
    await world.publishOneByOne(sent);
    await sleep(1_500);
    expect(attempts).toBeLessThan(10);
    away = false;
    await world.recordsExactly(sent);
  });

  it('goes on with what the replica before it left', async () => {
    await using world = await openWorld();
    const first = world.consume();
    const sent = Array.from({ length: 40 }, () => usedRequest());
    await world.publishOneByOne(sent.slice(0, 20));
    await first.drain();
    await world.publishOneByOne(sent.slice(20));
    world.consume();
    await world.recordsExactly(sent);
  });

  it('stores at once what comes alone, and together what comes meanwhile', async () => {
    await using world = await openWorld();
    const batches: number[] = [];
    const stored = Promise.withResolvers<void>();
    const record: UsageSink['record'] = async (batch) => {
      batches.push(batch.length);
      await stored.promise;
      return await world.sink.record(batch);
    };
    world.consume({ ...world.sink, record });
    const [alone, ...meanwhile] = Array.from({ length: 21 }, () => usedRequest());
    await world.publisher.publish(alone === undefined ? [] : [alone]);
    await expect.poll(() => batches).toEqual([1]);
    await world.publishOneByOne(meanwhile);
    await sleep(200);
    stored.resolve();
    await expect.poll(() => batches.reduce((sum, size) => sum + size, 0)).toBe(21);
    expect(batches.length).toBeLessThanOrEqual(4);
  });

  it('stores a backlog in full batches', async () => {
    await using world = await openWorld();
    const backlog = Array.from({ length: 600 }, () => usedRequest());
    await Promise.all(backlog.flatMap((event) => toUsageMessages([event])).map(({ data }) => world.publishRaw(data)));
    const consumer = world.consume();
    const stored = async () => (await ledgerTotals(world.database)).events?.requests;
    await expect.poll(stored).toBe(600);
    await consumer.drain();
    await world.ledgerHolds(backlog);
  });

  it('waits for a NATS that is not there yet, and says that it is not ready', async () => {
    const port = await freePort();
    await using world = await openWorld({ urls: [`nats://127.0.0.1:${port}`] });
    const consumer = world.consume();
    expect(consumer.problem()).toMatch(/cannot be read/);
    await using _server = await startNats({ port });
    await expect.poll(() => consumer.problem()).toBeUndefined();
    const event = usedRequest();
    await world.publisher.publish([event]);
    await world.ledgerHolds([event]);
  });

  it('goes on with the others of a cluster when a server ends', async () => {
    await using cluster = await startNatsCluster();
    await using world = await openWorld({ urls: cluster.servers.map(({ url }) => url), replicas: 3 });
    world.consume();
    const sent: RequestRecorded[] = [];
    const publish = async () => {
      const batch = [usedRequest(), usedRequest()];
      await expect.poll(() => world.publisher.publish(batch).then(() => 'sent', String)).toBe('sent');
      sent.push(...batch);
    };
    await publish();
    const killed = process.env.FAULTS === 'long' ? cluster.servers : cluster.servers.slice(0, 1);
    for (const server of killed) {
      await server.kill();
      await publish();
      await world.ledgerHolds(sent);
      await server.restart();
      await publish();
      await world.ledgerHolds(sent);
    }
  });

  it('stores what an edge hands over beside the stream, and answers when it is committed', async () => {
    await using world = await openWorld();
    let isAway = true;
    const record: UsageSink['record'] = async (...batch) => {
      if (isAway) throw new Error('connection refused');
      return await world.sink.record(...batch);
    };
    world.consume({ ...world.sink, record });
    const sent = [usedRequest(), usedRequest()];
    const handOver = () => world.handOver(sent).then(() => 'stored', String);
    await expect.poll(handOver).toContain('TIMEOUT');
    isAway = false;
    expect(await handOver()).toBe('stored');
    expect(await ledgerTotals(world.database)).toEqual(expectedTotals(sent));
    // The same event also arrives by the stream.
    await world.publisher.publish(sent);
    await world.recordsExactly(sent);
  });

  it('reads the whole stream again when its consumer is deleted, so that a ledger which lost rows has them once more', async () => {
    await using world = await openWorld();
    world.consume();
    const sent = Array.from({ length: 30 }, () => usedRequest());
    await world.publishOneByOne(sent);
    await world.recordsExactly(sent);
    // Events that a standby lacks when it was promoted too early.
    for (const { requestId } of sent.slice(10)) {
      await world.database.deleteFrom('usage_events').where('request_id', '=', requestId).execute();
    }
    await world.database.deleteFrom('usage_daily').execute();
    const events = await world.database.selectFrom('usage_events').selectAll().execute();
    await addSums(world.database, dailySums(events));
    await world.deleteConsumer();
    await world.ledgerHolds(sent);
  });

  it('stops soon while NATS is not there', async () => {
    await using world = await openWorld({ urls: ['nats://127.0.0.1:9'] });
    const consumer = world.consume();
    await sleep(50);
    expect(await Promise.race([consumer.drain().then(() => 'drained'), sleep(roomMs(5_000), 'hangs')])).toBe('drained');
  });

  it('makes room in the stream by removing what is stored, and nothing else', async () => {
    await using world = await openWorld();
    const consumer = world.consume();
    const stored = Array.from({ length: 20 }, () => usedRequest());
    await world.publishOneByOne(stored);
    await world.recordsExactly(stored);
    await consumer.drain();
    const waiting = [usedRequest(), usedRequest()];
    await world.publishOneByOne(waiting);
    await world.tend(1024 * 1024);
    expect(await world.messages()).toBe(22);
    await world.tend(1_000);
    expect(await world.messages()).toBe(2);
    world.consume();
    await world.ledgerHolds([...stored, ...waiting]);
  });
});

interface OwnServers {
  readonly urls?: readonly string[];
  readonly replicas?: number;
}

async function openWorld({ urls: ownUrls, replicas = 1 }: OwnServers = {}) {
  await using stack = new AsyncDisposableStack();
  const urls = ownUrls ?? [(await testBackends()).natsUrl];
  const id = randomUUID();
  const names = { stream: `USAGE-${id}`, subject: `usage.${id}`, consumer: 'usage-ingest' };
  const stream = { ...readUsageStreamConfig({}).stream, replicas };
  const { database } = stack.use(await openTestPostgres());
  const sink = sinkOf(database);
  const publisher = stack.use(new UsagePublisher({ urls }, watchers, { names }));
  const connecting = new AbortController();
  const connected = connectNats({ urls }, watchers, connecting.signal).then(async (connection) => {
    await untilDone(
      async () => ensureUsageStream(await connection.jetstreamManager(), stream, names),
      connecting.signal,
    );
    return connection;
  });
  stack.defer(async () => {
    connecting.abort();
    const connection = await connected.catch(() => undefined);
    if (ownUrls === undefined) await (await connection?.jetstreamManager())?.streams.delete(names.stream);
    await connection?.close();
  });
  if (ownUrls === undefined) await connected;
  const resources = stack.move();
  const info = async () => (await connected).jetstream().consumers.get(names.stream, names.consumer);
  return {
    database,
    sink,
    publisher,
    consume(to: UsageSink = sink) {
      const consumer = new NatsUsageConsumer({ servers: { urls }, stream, names, batchEvents: 50, ...watchers });
      resources.use(consumer);
      consumer.start(to);
      return consumer;
    },
    async publishOneByOne(requests: readonly RequestRecorded[]) {
      for (const request of requests) await publisher.publish([request]);
    },
    async publishRaw(data: Uint8Array) {
      await (await connected).jetstream().publish(names.subject, data);
    },
    /** @throws when no replica confirms that it has stored them. */
    async handOver(requests: readonly RequestRecorded[]) {
      const [message] = toUsageMessages(requests);
      await (await connected).request(directSubject(names), message?.data, { timeout: roomMs(1_000) });
    },
    async tend(maxBytes: number) {
      const connection = await connected;
      await tendStream({ connection, consumer: await info(), names, maxBytes, metrics, logger });
    },
    async deleteConsumer() {
      await (await info()).delete();
    },
    async messages() {
      const manager = await (await connected).jetstreamManager();
      return (await manager.streams.info(names.stream)).state.messages;
    },
    async ledgerHolds(sent: readonly RequestRecorded[]) {
      await expect.poll(() => ledgerTotals(database)).toEqual(expectedTotals(sent));
    },
    /** Waits until all messages are acknowledged, and the ledger has these requests, each once. */
    async recordsExactly(sent: readonly RequestRecorded[]) {
      await expect.poll(() => ledgerTotals(database)).toEqual(expectedTotals(sent));
      const pending = async () => {
        // A replica that has just started may not have created it yet.
        const consumer = await info().catch(() => undefined);
        const { num_pending = Number.NaN, num_ack_pending = Number.NaN } = (await consumer?.info()) ?? {};
        return num_pending + num_ack_pending;
      };
      await expect.poll(pending).toBe(0);
      expect(await ledgerTotals(database)).toEqual(expectedTotals(sent));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** A new cluster takes a while until it accepts streams. */
async function untilDone(act: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await act();
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      await sleep(200);
    }
  }
}

function sinkOf(database: GatewayDatabase): UsageSink {
  const recorder = new LedgerWriter({ ledger: new UsageLedger(database), metrics, logger, batchEvents: 50 });
  return { record: (...batch) => recorder.record(...batch), bury: (payload, reason) => recorder.bury(payload, reason) };
}
