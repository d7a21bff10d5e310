import type { UsageSink } from '@gateway/edge-router/usage/send-batch';
import { sleep } from '@gateway/time';
import type { UsageConsumer } from '@gateway/usage-ingest/service';
import { fromUsageMessage, toUsageMessages } from '@gateway/usage-stream/usage-message';
import type { JetStreamModel } from './jet-stream.ts';

const fetchMessages = 200;
const retryMs = 1_000;

/** Publishes what an edge owes the ledger. */
export function streamSink(stream: Pick<JetStreamModel, 'publish'>): UsageSink {
  return {
    async record(batch) {
      await Promise.all(toUsageMessages(batch).map(({ id, data }) => stream.publish(id, data)));
    },
  };
}

/** Reads the stream for an ingest: acknowledges what is committed. */
export function streamConsumer(stream: Pick<JetStreamModel, 'fetch' | 'acknowledge'>): UsageConsumer {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> = Promise.resolve();
  const pause = (durationMs: number) => sleep(durationMs, { signal }).catch(() => undefined);
  const run = async (sink: Parameters<UsageConsumer['start']>[0]) => {
    while (!signal.aborted) {
      try {
        const messages = await stream.fetch(fetchMessages);
        if (messages.length > 0) await sink.record(messages.flatMap(({ data }) => fromUsageMessage(data)));
        if (messages.length > 0) await stream.acknowledge(messages.map(({ sequence }) => sequence));
      } catch {
        await pause(retryMs);
      }
    }
  };
  const drain = async () => {
    stopping.abort();
    await running;
  };
  return {
    start(sink) {
      running = run(sink);
    },
    problem: () => undefined,
    drain,
    [Symbol.asyncDispose]: drain,
  };
}
