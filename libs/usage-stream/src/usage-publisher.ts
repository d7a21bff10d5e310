import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { activeSpan, traceparentOf } from '@gateway/telemetry';
import { cancelTimer, sleep, startTimer } from '@gateway/time';
import { ErrorCode, headers, type NatsConnection, NatsError } from 'nats';
import { connectNats, type NatsWatchers, orAborted } from './connect-nats.ts';
import type { NatsServers } from './nats-servers.ts';
import { StreamTelemetry } from './stream-telemetry.ts';
import { toUsageMessages, type UsageMessage } from './usage-message.ts';
import { directSubject, type UsageStreamNames, usageStreamNames } from './usage-stream.ts';

export interface UsagePublisherOptions {
  /** How long to wait for an acknowledgement, including connecting. */
  readonly timeoutMs?: number;
  readonly names?: UsageStreamNames;
}

/** An acknowledgement that takes longer may never arrive, because its server died. */
const directAfterMs = 1_000;
/**
 * Messages that an ingest has stored and the stream lacks. Beyond this number a publish waits for
 * the stream.
 */
const maxOwed = 1_000;

/**
 * Sends usage to the stream, and what the stream does not accept directly to an ingest: when a
 * server dies, a stream has no leader for up to nine seconds. A failed publish may have arrived
 * after all. The caller repeats it until it succeeds; repeats are harmless.
 */
export class UsagePublisher implements AsyncDisposable {
  readonly #names: UsageStreamNames;
  readonly #timeoutMs: number;
  readonly #telemetry: StreamTelemetry;
  readonly #closing = new AbortController();
  readonly #connection: Promise<NatsConnection>;
  readonly #owed = new Set<UsageMessage>();

  /**
   * Connects in the background. While NATS can't be reached, publishing fails after its timeout.
   */
  constructor(servers: NatsServers, watchers: NatsWatchers, options: UsagePublisherOptions = {}) {
    this.#names = options.names ?? usageStreamNames;
    this.#timeoutMs = options.timeoutMs ?? 5_000;
    this.#telemetry = new StreamTelemetry(watchers.metrics, this.#names.stream);
    this.#connection = connectNats(servers, watchers, this.#closing.signal);
    this.#connection.catch(() => undefined);
  }

  /**
   * Resolves when the stream or the ledger has all requests, including those they already had.
   */
  async publish(requests: readonly RequestRecorded[], signal?: AbortSignal): Promise<void> {
    const late = new AbortController();
    const timer = startTimer(() => late.abort(new Error('The usage was not published in time.')), this.#timeoutMs);
    const limit = AbortSignal.any([this.#closing.signal, late.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      await this.#telemetry.publish(requests, async () => {
        const connection = await orAborted(this.#connection, limit);
        const sent = toUsageMessages(requests).map((message) => this.#send(connection, message));
        await orAborted(Promise.all(sent), limit);
      });
    } finally {
      cancelTimer(timer);
    }
  }

  async #send(connection: NatsConnection, message: UsageMessage): Promise<void> {
    const published = this.#publish(connection, message).then(() => false);
    const isTaken = published.then(() => true).catch(() => false);
    if (this.#owed.size === 0 && (await within(directAfterMs, isTaken))) return;
    if (this.#owed.size >= maxOwed) return void (await published);
    // The ledger recognises a message that arrives both ways.
    const stored = this.#store(connection, message).then(() => true);
    if (await Promise.any([published, stored]).catch(() => published)) void this.#publishLater(connection, message);
  }

  /**
   * Asks any ingest, and once more after a while: the first request may have been lost with its
   * server.
   */
  async #store(connection: NatsConnection, { data }: UsageMessage): Promise<void> {
    const options = { timeout: this.#timeoutMs / 2, ...traceHeader() };
    const ask = () => connection.request(directSubject(this.#names), data, options);
    await ask().catch((thrown: unknown) => {
      if (thrown instanceof NatsError && thrown.code === ErrorCode.Timeout) return ask();
      throw thrown;
    });
  }

  /**
   * The stream also receives what is stored directly, because a ledger that lost rows is restored
   * from the stream.
   */
  async #publishLater(connection: NatsConnection, message: UsageMessage): Promise<void> {
    const { signal } = this.#closing;
    this.#owed.add(message);
    for (let isOwed = true; isOwed && !signal.aborted; ) {
      await sleep(directAfterMs, { ref: false, signal }).catch(() => undefined);
      isOwed = await this.#publish(connection, message).then(
        () => false,
        () => true,
      );
    }
    this.#owed.delete(message);
  }

  #publish(connection: NatsConnection, { id, data }: UsageMessage): Promise<unknown> {
    const { stream: streamName, subject } = this.#names;
    const options = { msgID: id, timeout: this.#timeoutMs, expect: { streamName }, ...traceHeader() };
    return connection.jetstream().publish(subject, data, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('The publisher is closed.'));
    const connection = await this.#connection.catch(() => undefined);
    await connection?.close();
  }
}

/** False if it takes longer. Leaves no timer. */
async function within(timeoutMs: number, taken: Promise<boolean>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = startTimer(() => resolve(false), timeoutMs);
  return await Promise.race([taken, late]).finally(() => cancelTimer(timer));
}

/** The publishing span, for the consumer to continue, when it is sampled. */
function traceHeader() {
  const span = activeSpan();
  const traceparent = span?.isRecording() ? traceparentOf(span) : undefined;
  if (traceparent === undefined) return {};
  const sent = headers();
  sent.set('traceparent', traceparent);
  return { headers: sent };
}
