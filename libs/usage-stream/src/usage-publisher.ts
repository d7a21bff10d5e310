import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Logger } from '@gateway/telemetry';
import type { JetStreamClient, NatsConnection } from 'nats';
import { connectNats } from './connect-nats.ts';
import { UsageGathering } from './usage-gathering.ts';
import { maxEventsPerMessage, toUsageMessages, type UsageMessage } from './usage-message.ts';
import { type UsageStreamNames, usageStreamNames } from './usage-stream.ts';

export interface UsagePublisherOptions {
  /** How long an acknowledgement is waited for, a connection included. */
  readonly timeoutMs?: number;
  /** How long events that follow upon others are gathered into one message; 50 ms unless told. */
  readonly gatherMs?: number;
  readonly names?: UsageStreamNames;
}

/**
 * Sends usage events to the stream, under load many in a message: each message costs the publisher, the server and the
 * consumer more than ten events do. A publish that fails may still have arrived: the caller repeats it until one
 * succeeds, and repetitions are harmless.
 */
export class UsagePublisher implements AsyncDisposable {
  readonly #names: UsageStreamNames;
  readonly #timeoutMs: number;
  readonly #closing = new AbortController();
  readonly #gathering: UsageGathering;
  readonly #connection: Promise<NatsConnection>;
  #connected: NatsConnection | undefined;

  /** Connects in the background: while NATS can't be reached, publishing fails after its timeout. */
  static open(urls: readonly string[], logger: Logger, options: UsagePublisherOptions = {}): UsagePublisher {
    return new UsagePublisher(urls, logger, options);
  }

  private constructor(
    urls: readonly string[],
    logger: Logger,
    { timeoutMs = 5_000, gatherMs = 50, names = usageStreamNames }: UsagePublisherOptions,
  ) {
    this.#names = names;
    this.#timeoutMs = timeoutMs;
    this.#gathering = new UsageGathering({
      send: (events, signal) => this.#publish(events, signal),
      gatherMs,
      fullEvents: maxEventsPerMessage,
      timeoutMs,
    });
    this.#connection = connectNats(urls, logger, this.#closing.signal);
    this.#connection.then(
      (connection) => {
        this.#connected = connection;
      },
      // Closed before there was a connection: whoever publishes is told.
      () => undefined,
    );
  }

  /** Resolves when the stream has every event; one it already had counts as well. */
  async publish(events: readonly UsageRecorded[], signal: AbortSignal = this.#closing.signal): Promise<void> {
    await this.#gathering.record(events, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('The publisher is closed.'));
    await this.#gathering.flush();
    await this.#connection.catch(() => undefined);
    await this.#connected?.close();
  }

  async #publish(events: readonly UsageRecorded[], signal: AbortSignal): Promise<void> {
    const limit = AbortSignal.any([this.#closing.signal, signal]);
    const client = (await orAborted(this.#connection, limit)).jetstream();
    const sent = toUsageMessages(events).map((message) => this.#send(client, message));
    await orAborted(Promise.all(sent), limit);
  }

  async #send(client: JetStreamClient, { id, data }: UsageMessage): Promise<void> {
    await client.publish(this.#names.subject, data, {
      msgID: id,
      timeout: this.#timeoutMs,
      expect: { streamName: this.#names.stream },
    });
  }
}

/** The value, or the signal's reason, whichever comes first. */
function orAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
