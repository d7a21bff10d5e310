import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { monotonicMs, sleep, startInterval, timeoutSignal } from '@gateway/time';
import {
  connectNats,
  directSubject,
  fromUsageMessage,
  type NatsServers,
  type NatsWatchers,
  orAborted,
  StreamTelemetry,
  type UsageStreamNames,
  type UsageStreamSettings,
  usageStreamNames,
} from '@gateway/usage-stream';
import type { Consumer, ConsumerMessages, JsMsg, Msg, NatsConnection } from 'nats';
import { createIngestMetrics, type IngestMetrics } from '../metrics.ts';
import type { LedgerWriter } from '../recording/ledger-writer.ts';
import { ReadAhead } from './read-ahead.ts';
import { openUsageConsumer, progressMs, tendStream } from './stream-keeper.ts';

/** The destination of events. */
export type UsageSink = Pick<LedgerWriter, 'record' | 'bury'>;

export interface NatsUsageConsumerOptions extends NatsWatchers {
  readonly servers: NatsServers;
  readonly stream: UsageStreamSettings;
  readonly names?: UsageStreamNames;
  readonly batchEvents: number;
}

/** How many messages are requested at a time. */
const fetchMessages = 200;
/** How long one request for messages stays open when none arrive. */
const fetchExpiresMs = 1_000;
/** After this time, messages that could not be stored are redelivered to any replica. */
const redeliveryDelayMs = 1_000;
const maxPauseMs = 10_000;
const flushTimeoutMs = 3_000;
/**
 * How many messages outside of the stream are stored concurrently. A sender without an answer asks
 * again.
 */
const maxDirectMessages = 16;
/** The interval between checks of the backlog and of the room in the stream. */
const tendIntervalMs = 5_000;

/**
 * Reads the usage stream through a durable consumer that all replicas share. A message is
 * acknowledged after its events are committed, so that a lost one is redelivered. While the
 * database is away it holds no messages.
 */
export class NatsUsageConsumer implements AsyncDisposable {
  readonly #options: Required<NatsUsageConsumerOptions>;
  readonly #metrics: IngestMetrics;
  readonly #telemetry: StreamTelemetry;
  readonly #stopping = new AbortController();
  #connection: NatsConnection | undefined;
  #fetched: ConsumerMessages | undefined;
  readonly #direct = new Set<Promise<void>>();
  #running: Promise<void> = Promise.resolve();
  #ready = false;

  constructor(options: NatsUsageConsumerOptions) {
    this.#options = { names: usageStreamNames, ...options };
    this.#metrics = createIngestMetrics(options.metrics);
    this.#telemetry = new StreamTelemetry(options.metrics, this.#options.names.stream);
  }

  /** Starts in the background. Nothing is acknowledged before it is committed. */
  start(sink: UsageSink): void {
    this.#running = this.#run(sink);
  }

  /** Why nothing can be read now; undefined when it can. */
  problem(): string | undefined {
    return this.#ready ? undefined : 'the usage stream cannot be read';
  }

  /** Takes no new messages, and resolves when those taken are stored or returned to the stream. */
  async drain(): Promise<void> {
    this.#stopping.abort();
    // The current fetch ends by itself. If it were cancelled, messages on their way would be
    // redelivered only after their acknowledgement is overdue. If the server is away, the fetch
    // does not end, so the wait is bounded.
    await Promise.race([this.#running, sleep(fetchExpiresMs + 500)]);
    this.#fetched?.stop();
    await this.#running;
    await Promise.all(this.#direct);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain();
    await this.#connection?.close();
  }

  async #run(sink: UsageSink): Promise<void> {
    const { signal } = this.#stopping;
    const { servers, stream, names, ...watchers } = this.#options;
    while (!signal.aborted) {
      try {
        if (this.#connection === undefined || this.#connection.isClosed()) {
          this.#connection = await connectNats(servers, watchers, signal);
          this.#takeDirect(this.#connection, sink);
        }
        const consumer = await openUsageConsumer(this.#connection, stream, names);
        await this.#consume(this.#connection, consumer, sink);
      } catch (thrown) {
        if (signal.aborted) return;
        this.#ready = false;
        watchers.logger.warn({ err: thrown }, 'the usage stream cannot be read; retrying');
        // Not longer: while a cluster elects a leader, late messages wait for this.
        await pause(1, signal);
      }
    }
  }

  /** While the stream has no leader, edges ask any replica to store their usage. */
  #takeDirect(connection: NatsConnection, sink: UsageSink): void {
    const { signal } = this.#stopping;
    const subject = directSubject(this.#options.names);
    const callback = (fault: unknown, message: Msg) => {
      if (fault !== null)
        this.#options.logger.warn(
          { err: fault, subject },
          'NATS denies the subscription: grant permission for the subject',
        );
      if (fault !== null || this.#direct.size >= maxDirectMessages) return;
      const storing = this.#storeDirect(message, sink).finally(() => this.#direct.delete(storing));
      this.#direct.add(storing);
    };
    const subscription = connection.subscribe(subject, { queue: this.#options.names.consumer, callback });
    signal.addEventListener('abort', () => subscription.unsubscribe(), { once: true });
  }

  async #storeDirect(message: Msg, sink: UsageSink): Promise<void> {
    try {
      const batch = fromUsageMessage(message.data);
      await this.#telemetry.process(batch, sentIn([message]), () => sink.record(batch));
      message.respond();
    } catch (thrown) {
      this.#metrics.batchFailures.inc();
      this.#options.logger.warn({ messages: 1, err: thrown }, 'usage could not be stored; retrying');
    }
  }

  async #consume(connection: NatsConnection, consumer: Consumer, sink: UsageSink): Promise<void> {
    const { signal } = this.#stopping;
    const ahead = new ReadAhead(connection, consumer, this.#options.names);
    let tendAtMs = monotonicMs();
    for (let failures = 0; !signal.aborted; ) {
      // Fails while the server can't be reached, so that requests do not pile up.
      if (!(await this.#isReachable(connection))) {
        await pause(0, signal);
        continue;
      }
      if (monotonicMs() >= tendAtMs) {
        await this.#tend(connection, consumer);
        tendAtMs = monotonicMs() + tendIntervalMs;
      }
      const { given } = ahead;
      const stored = await this.#fetchOnce(consumer, sink, ahead, failures === 0 ? fetchMessages : 1);
      if (ahead.given === given && !signal.aborted) await this.#readAhead(ahead, sink);
      failures = stored ? 0 : failures + 1;
      if (!stored) await pause(failures, signal);
    }
    // Acknowledgements must be sent before the connection may be closed.
    await flush(connection);
  }

  /** @throws when the connection is closed permanently. */
  async #isReachable(connection: NatsConnection): Promise<boolean> {
    try {
      await this.#telemetry.call('ack', () => flush(connection, this.#stopping.signal));
      this.#ready = true;
    } catch (thrown) {
      if (connection.isClosed()) throw thrown;
      this.#ready = false;
      if (!this.#stopping.signal.aborted) this.#options.logger.warn({ err: thrown }, 'NATS does not answer; retrying');
    }
    return this.#ready;
  }

  async #readAhead(ahead: ReadAhead, sink: UsageSink): Promise<void> {
    const { logger } = this.#options;
    const store = async (messages: readonly Uint8Array[]) => {
      // A message that can't be parsed becomes a dead letter when the consumer delivers it.
      const together = messages.flatMap((message) => read(message) ?? []);
      await this.#telemetry.process(together, [], () => sink.record(together));
    };
    try {
      const messages = await orAborted(ahead.readOn(store), this.#stopping.signal);
      if (messages > 0) logger.info({ messages }, 'read the usage stream without its consumer, which has no leader');
    } catch (thrown) {
      if (!this.#stopping.signal.aborted) logger.warn({ err: thrown }, 'usage could not be stored; retrying');
    }
  }

  /** A failure here does not prevent reading messages. */
  async #tend(connection: NatsConnection, consumer: Consumer): Promise<void> {
    const { logger, stream } = this.#options;
    const { signal } = this.#stopping;
    const toTend = { ...this.#options, metrics: this.#metrics, connection, consumer, maxBytes: stream.maxBytes };
    await orAborted(tendStream(toTend), signal).catch((thrown: unknown) => {
      if (!signal.aborted) logger.warn({ err: thrown }, 'the usage stream cannot be read; retrying');
    });
  }

  /**
   * False when something could not be stored. Messages that arrive after that are returned at once,
   * and the fetch is read to its end: if it were stopped, messages on their way would be
   * redelivered only after their acknowledgement is overdue.
   */
  async #fetchOnce(consumer: Consumer, sink: UsageSink, ahead: ReadAhead, maxMessages: number): Promise<boolean> {
    const messages = await consumer.fetch({ max_messages: maxMessages, expires: fetchExpiresMs });
    this.#fetched = messages;
    let stored = true;
    for await (const batch of this.#batches(messages)) {
      for (const { message } of batch) ahead.onGiven(message.seq);
      stored &&= await this.#store(batch, sink);
      if (!stored) for (const { message } of batch) message.nak(redeliveryDelayMs);
    }
    return stored;
  }

  /** The messages at hand form one transaction: more arrive while it is written. */
  async *#batches(messages: ConsumerMessages): AsyncGenerator<readonly ReceivedMessage[]> {
    let batch: ReceivedMessage[] = [];
    let rows = 0;
    const received = messages[Symbol.asyncIterator]();
    let next = await this.#telemetry.call('fetch', () => received.next());
    for (; !next.done; next = await received.next()) {
      const message = next.value;
      const content = read(message.data);
      batch.push({ message, content });
      rows += content?.length ?? 0;
      // The message being read counts as pending.
      if (messages.getPending() > 1 && rows < this.#options.batchEvents) continue;
      yield batch;
      batch = [];
      rows = 0;
    }
    if (batch.length > 0) yield batch;
  }

  async #store(batch: readonly ReceivedMessage[], sink: UsageSink): Promise<boolean> {
    const together = batch.flatMap(({ content = [] }) => content);
    const parents = sentIn(batch.map(({ message }) => message));
    using _progress = startInterval(() => {
      for (const { message } of batch) message.working();
    }, progressMs);
    try {
      await this.#telemetry.process(together, parents, async () => {
        await sink.record(together);
        for (const { message, content } of batch) {
          if (content === undefined) await sink.bury(message.data, notAMessage);
        }
      });
    } catch (thrown) {
      this.#metrics.batchFailures.inc();
      this.#options.logger.warn({ messages: batch.length, err: thrown }, 'usage could not be stored; retrying');
      return false;
    }
    for (const { message, content } of batch) {
      if (content === undefined) message.term();
      else message.ack();
    }
    return true;
  }
}

const notAMessage = 'the message is not a gateway.usage.v1.RecordRequest';

interface ReceivedMessage {
  readonly message: JsMsg;
  /** Undefined: the bytes can't be parsed. */
  readonly content: readonly RequestRecorded[] | undefined;
}

/** The spans that published the messages, if sampled. */
function sentIn(messages: readonly { readonly headers?: Msg['headers'] }[]): readonly string[] {
  return messages.flatMap((message) => message.headers?.get('traceparent') || []);
}

function read(data: Uint8Array): readonly RequestRecorded[] | undefined {
  try {
    return fromUsageMessage(data);
  } catch {
    return undefined;
  }
}

/**
 * Resolves when the server has everything that was sent.
 * @throws when it does not confirm in time.
 */
async function flush(connection: NatsConnection, ...signals: readonly AbortSignal[]): Promise<void> {
  await orAborted(connection.flush(), AbortSignal.any([timeoutSignal(flushTimeoutMs), ...signals]));
}

/** Pauses longer after each failure. Ends early when the signal is aborted. */
async function pause(failures: number, signal: AbortSignal): Promise<void> {
  const durationMs = Math.min(maxPauseMs, 250 * 2 ** failures);
  await sleep(durationMs, { signal }).catch(() => undefined);
}
