import type { Logger } from '@gateway/telemetry';
import type { NatsConnection } from 'nats';
import { connectNats, orAborted } from './connect-nats.ts';
import type { NatsServers } from './nats-servers.ts';
import { toUsageMessages, type UsageBatch } from './usage-message.ts';
import { type UsageStreamNames, usageStreamNames } from './usage-stream.ts';

export interface UsagePublisherOptions {
  /** How long an acknowledgement is waited for, a connection included. */
  readonly timeoutMs?: number;
  readonly names?: UsageStreamNames;
}

/**
 * Sends usage to the stream. A publish that fails may still have arrived: the caller repeats it until one succeeds, and
 * repetitions are harmless.
 */
export class UsagePublisher implements AsyncDisposable {
  readonly #names: UsageStreamNames;
  readonly #timeoutMs: number;
  readonly #closing = new AbortController();
  readonly #connection: Promise<NatsConnection>;

  /** Connects in the background: while NATS can't be reached, publishing fails after its timeout. */
  constructor(servers: NatsServers, logger: Logger, options: UsagePublisherOptions = {}) {
    this.#names = options.names ?? usageStreamNames;
    this.#timeoutMs = options.timeoutMs ?? 5_000;
    this.#connection = connectNats(servers, logger, this.#closing.signal);
    this.#connection.catch(() => undefined);
  }

  /** Resolves when the stream has the whole batch; what it already had counts as well. */
  async publish(batch: UsageBatch, signal?: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(this.#timeoutMs);
    const limit = AbortSignal.any([this.#closing.signal, late, ...(signal === undefined ? [] : [signal])]);
    const client = (await orAborted(this.#connection, limit)).jetstream();
    const { stream: streamName, subject } = this.#names;
    const sent = toUsageMessages(batch).map(({ id, data }) =>
      client.publish(subject, data, { msgID: id, timeout: this.#timeoutMs, expect: { streamName } }),
    );
    await orAborted(Promise.all(sent), limit);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('The publisher is closed.'));
    const connection = await this.#connection.catch(() => undefined);
    await connection?.close();
  }
}
