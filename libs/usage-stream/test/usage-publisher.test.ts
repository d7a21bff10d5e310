import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { freePort, startNats, testBackends } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import type { NatsConnection } from 'nats';
import { describe, expect, it } from 'vitest';
import {
  connectNats,
  directSubject,
  ensureUsageStream,
  fromUsageMessage,
  UsagePublisher,
  type UsageStreamNames,
} from '../src/index.ts';
import { smallStream } from './small-stream.ts';

const watchers = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
const requests = (...ids: string[]) => ids.map((requestId) => create(RequestRecordedSchema, { requestId }));

describe('the usage stream', () => {
  it('is made once and updated, by any number of processes at once', async () => {
    await using stream = await openStream();
    const smaller = { ...smallStream, maxBytes: 1_000_000 };
    await Promise.all([1, 2, 3].map(() => ensureUsageStream(stream.manager, smaller, stream.names)));
    const { config } = await stream.manager.streams.info(stream.names.stream);
    expect(config).toMatchObject({ storage: 'file', retention: 'limits', discard: 'new', max_bytes: 1_000_000 });
  });

  it('holds a request once, however often it is published', async () => {
    await using stream = await openStream();
    await using publisher = new UsagePublisher({ urls: [stream.url] }, watchers, { names: stream.names });
    await publisher.publish(requests('a'));
    await publisher.publish(requests('a'));
    await publisher.publish(requests('b', 'c'));
    await publisher.publish(requests('b', 'c'));
    expect(await stream.messages()).toBe(2);
  });

  it('refuses what is too much for it, so that the publisher keeps it', async () => {
    await using stream = await openStream({ maxBytes: 1_000 });
    await using publisher = new UsagePublisher({ urls: [stream.url] }, watchers, { names: stream.names });
    const sizable = Array.from({ length: 20 }, () => publisher.publish(requests(randomUUID().repeat(3))));
    const results = await Promise.allSettled(sizable);
    const taken = results.filter(({ status }) => status === 'fulfilled').length;
    expect(taken).toBeLessThan(20);
    expect(await stream.messages()).toBe(taken);
  });
});

describe('a publisher', () => {
  it('fails when there is no stream to take the requests', async () => {
    const { natsUrl } = await testBackends();
    const names = uniqueNames();
    await using publisher = new UsagePublisher({ urls: [natsUrl] }, watchers, { names, timeoutMs: roomMs(2_000) });
    await expect(publisher.publish(requests('a'))).rejects.toThrow();
  });

  it('has an ingest store what the stream does not take, and believes it only when it says so', async () => {
    const { natsUrl } = await testBackends();
    const names = uniqueNames();
    await using publisher = new UsagePublisher({ urls: [natsUrl] }, watchers, { names, timeoutMs: roomMs(1_000) });
    const ingest = await connectNats({ urls: [natsUrl] }, watchers);
    const stored: string[] = [];
    let isStoring = false;
    ingest.subscribe(directSubject(names), {
      callback: (_, message) => {
        if (!isStoring) return;
        stored.push(...fromUsageMessage(message.data).map(({ requestId }) => requestId));
        message.respond();
      },
    });
    await ingest.flush();
    await expect(publisher.publish(requests('a', 'b'))).rejects.toThrow();
    isStoring = true;
    await publisher.publish(requests('a', 'b'));
    expect(stored).toEqual(['a', 'b']);
    // What is stored directly also reaches the stream once one accepts it.
    await using stream = await openStream({}, natsUrl, names);
    await expect.poll(() => stream.messages()).toBe(1);
    await ingest.close();
  });

  it('bothers no ingest with what the stream takes', async () => {
    await using stream = await openStream();
    await using publisher = new UsagePublisher({ urls: [stream.url] }, watchers, { names: stream.names });
    const ingest = await connectNats({ urls: [stream.url] }, watchers);
    const asked = ingest.subscribe(directSubject(stream.names));
    await publisher.publish(requests('a'));
    await ingest.flush();
    expect(asked.getReceived()).toBe(0);
    await ingest.close();
  });

  it('fails after its timeout while NATS is not there, and succeeds once it is', async () => {
    const port = await freePort();
    const names = uniqueNames();
    await using publisher = new UsagePublisher({ urls: [`nats://127.0.0.1:${port}`] }, watchers, {
      names,
      timeoutMs: 300,
    });
    await expect(publisher.publish(requests('a'))).rejects.toThrow();
    await using server = await startNats({ port });
    await using stream = await openStream({}, server.url, names);
    await expect.poll(() => publisher.publish(requests('a')).then(() => 'sent', String)).toBe('sent');
    expect(await stream.messages()).toBe(1);
  });

  it('reaches the server that is there, of several that are named', async () => {
    await using stream = await openStream();
    const dead = await freePort();
    const urls = [`nats://127.0.0.1:${dead}`, stream.url, 'nats://127.0.0.1:9'];
    await using publisher = new UsagePublisher({ urls }, watchers, { names: stream.names });
    await publisher.publish(requests('a'));
    expect(await stream.messages()).toBe(1);
  });

  it('stops waiting with its signal', async () => {
    await using publisher = new UsagePublisher({ urls: ['nats://127.0.0.1:9'] }, watchers);
    const controller = new AbortController();
    const publishing = publisher.publish(requests('a'), controller.signal);
    controller.abort(new Error('enough'));
    await expect(publishing).rejects.toThrow('enough');
  });
});

function uniqueNames(): UsageStreamNames {
  const id = randomUUID();
  return { stream: `USAGE-${id}`, subject: `usage.${id}`, consumer: 'usage-ingest' };
}

async function openStream(settings: Partial<typeof smallStream> = {}, at?: string, names = uniqueNames()) {
  const url = at ?? (await testBackends()).natsUrl;
  const connection: NatsConnection = await connectNats({ urls: [url] }, watchers);
  const manager = await connection.jetstreamManager();
  await ensureUsageStream(manager, { ...smallStream, ...settings }, names);
  return {
    url,
    names,
    manager,
    messages: async () => (await manager.streams.info(names.stream)).state.messages,
    async [Symbol.asyncDispose]() {
      await manager.streams.delete(names.stream);
      await connection.close();
    },
  };
}
