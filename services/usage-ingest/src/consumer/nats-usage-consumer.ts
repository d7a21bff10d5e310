import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gateway/telemetry';
import { connectNats, type UsageStreamNames, type UsageStreamSettings, usageStreamNames } from '@gateway/usage-stream';
import type { Consumer, ConsumerMessages, JsMsg, NatsConnection } from 'nats';
import type { IngestEvents } from '../ingest-events.ts';
import { messageBatches, type ReceivedMessage } from './message-batches.ts';
import { openUsageConsumer, tendStream } from './stream-keeper.ts';
import type { UsageConsumer, UsageSink } from './usage-consumer.ts';

export interface NatsUsageConsumerOptions {
  readonly urls: readonly string[];
  readonly stream: UsageStreamSettings;
  readonly names?: UsageStreamNames;
  readonly batchEvents: number;
  /** Batches begin so far apart at least, unless there is enough for a full one. */
  readonly gatherMs: number;
  readonly logger: Logger;
  readonly events: IngestEvents;
}

/** Messages asked for at a time. */
const fetchMessages = 200;
/** How long one request for messages stays open when none come. */
const fetchExpiresMs = 1_000;
/** So long the server takes at most, mostly, to send what it has. */
const onItsWayMs = 5;
/** Messages that could not be stored are offered again, to any replica, after so long. */
const redeliveryDelayMs = 1_000;
const maxPauseMs = 10_000;
const flushTimeoutMs = 3_000;

/**
 * Reads the usage stream through a durable consumer that all replicas share. A message is acknowledged after its
 * events are committed, so that one which is lost on the way comes again. While the database is away nothing is held.
 */
export class NatsUsageConsumer implements UsageConsumer {
  readonly #options: NatsUsageConsumerOptions;
  readonly #names: UsageStreamNames;
  readonly #stopping = new AbortController();
  #connection: NatsConnection | undefined;
  #fetched: ConsumerMessages | undefined;
  #running: Promise<void> = Promise.resolve();
  #ready = false;
  #nextBatchMs = 0;

  constructor(options: NatsUsageConsumerOptions) {
    this.#options = options;
    this.#names = options.names ?? usageStreamNames;
  }

  start(sink: UsageSink): void {
    this.#running = this.#run(sink);
  }

  problem(): string | undefined {
    return this.#ready ? undefined : 'the usage stream can not be read';
  }

  async drain(): Promise<void> {
    this.#stopping.abort();
    // The fetch at hand ends by itself: messages on their way to one that was cut off would come again only when their
    // acknowledgement is overdue. A server that is away does not end it.
    await Promise.race([this.#running, sleep(fetchExpiresMs + 500)]);
    this.#fetched?.stop();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain();
    await this.#connection?.close();
  }

  async #run(sink: UsageSink): Promise<void> {
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const connection = await this.#connect();
        const consumer = await openUsageConsumer(connection, this.#options.stream, this.#names);
        await this.#consume(connection, consumer, sink);
      } catch (thrown) {
        if (signal.aborted) return;
        this.#ready = false;
        this.#options.events.consumerFailed(thrown);
        await pause(failures, signal);
      }
    }
  }

  async #connect(): Promise<NatsConnection> {
    if (this.#connection === undefined || this.#connection.isClosed()) {
      this.#connection = await connectNats(this.#options.urls, this.#options.logger, this.#stopping.signal);
    }
    return this.#connection;
  }

  async #consume(connection: NatsConnection, consumer: Consumer, sink: UsageSink): Promise<void> {
    const { signal } = this.#stopping;
    const tending = new AbortController();
    const tended = tendStream({
      connection,
      consumer,
      names: this.#names,
      maxBytes: this.#options.stream.maxBytes,
      events: this.#options.events,
      signal: AbortSignal.any([signal, tending.signal]),
    });
    try {
      for (let failures = 0; !signal.aborted; ) {
        // Fails while the server can't be reached, so that no requests pile up for it.
        await flush(connection, signal);
        this.#ready = true;
        const stored = await this.#fetchOnce(consumer, sink, failures === 0 ? fetchMessages : 1);
        failures = stored ? 0 : failures + 1;
        if (!stored) await pause(failures, signal);
      }
      // Acknowledgements are on their way before the connection may be closed.
      await flush(connection);
    } finally {
      tending.abort();
      await tended;
    }
  }

  /**
   * False when something could not be stored. What else arrives by then is handed back at once, and the fetch is read to
   * its end: messages on their way to one that was stopped would come again only when their acknowledgement is overdue.
   */
  async #fetchOnce(consumer: Consumer, sink: UsageSink, maxMessages: number): Promise<boolean> {
    const messages = await consumer.fetch({ max_messages: maxMessages, expires: fetchExpiresMs });
    this.#fetched = messages;
    let stored = true;
    const gather = async (last: JsMsg, missing: number) => {
      // Nothing more comes with a fetch that has brought all it was asked for.
      if (messages.getReceived() < maxMessages) await this.#gather(last.info.pending >= missing);
    };
    for await (const batch of messageBatches(messages, { batchEvents: this.#options.batchEvents, gather })) {
      this.#nextBatchMs = performance.now() + this.#options.gatherMs;
      stored &&= await this.#store(batch, sink);
      if (stored) continue;
      for (const { message } of batch) message.nak(redeliveryDelayMs);
    }
    return stored;
  }

  /**
   * What comes alone is stored at once. Under load, what comes soon after a batch waits for the rest of its time: a
   * transaction costs as much as dozens of its events. Of a backlog that fills the batch only what is on its way is waited for.
   */
  async #gather(isBacklog: boolean): Promise<void> {
    const restMs = this.#nextBatchMs - performance.now();
    const pauseMs = isBacklog ? Math.min(restMs, onItsWayMs) : restMs;
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  async #store(batch: readonly ReceivedMessage[], sink: UsageSink): Promise<boolean> {
    const startedMs = performance.now();
    try {
      await sink.record(batch.flatMap(({ events = [] }) => events));
      for (const { message, events } of batch) {
        if (events !== undefined) continue;
        await sink.bury(message.data, 'the message is not a gateway.usage.v1.RecordRequest');
      }
    } catch (thrown) {
      this.#options.events.batchFailed(batch.length, thrown);
      return false;
    }
    for (const { message, events } of batch) {
      if (events === undefined) message.term();
      else message.ack();
    }
    this.#options.events.batchStored((performance.now() - startedMs) / 1_000);
    return true;
  }
}

/** Resolves when the server has everything that was sent. @throws when it does not say so in time. */
async function flush(connection: NatsConnection, signal?: AbortSignal): Promise<void> {
  const limits = [AbortSignal.timeout(flushTimeoutMs), ...(signal === undefined ? [] : [signal])];
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  AbortSignal.any(limits).addEventListener('abort', () => reject(new Error('NATS does not answer')), { once: true });
  await Promise.race([connection.flush(), aborted]);
}

/** Longer after each failure. Ends early when the signal is aborted. */
async function pause(failures: number, signal: AbortSignal): Promise<void> {
  const durationMs = Math.min(maxPauseMs, 250 * 2 ** failures);
  await sleep(durationMs, undefined, { signal }).catch(() => undefined);
}
