import { activeSpan, traceparentOf } from '@gateway/telemetry';
import { headers, type NatsConnection } from 'nats';
import { connectNats, type NatsWatchers, orAborted } from './connect-nats.ts';
import type { NatsServers } from './nats-servers.ts';
import { StreamTelemetry } from './stream-telemetry.ts';
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
  readonly #telemetry: StreamTelemetry;
  readonly #closing = new AbortController();
  readonly #connection: Promise<NatsConnection>;

  /** Connects in the background: while NATS can't be reached, publishing fails after its timeout. */
  constructor(servers: NatsServers, watchers: NatsWatchers, options: UsagePublisherOptions = {}) {
    this.#names = options.names ?? usageStreamNames;
    this.#timeoutMs = options.timeoutMs ?? 5_000;
    this.#telemetry = new StreamTelemetry(watchers.metrics, this.#names.stream);
    this.#connection = connectNats(servers, watchers, this.#closing.signal);
    this.#connection.catch(() => undefined);
  }

  /** Resolves when the stream has the whole batch; what it already had counts as well. */
  async publish(batch: UsageBatch, signal?: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(this.#timeoutMs);
    const limit = AbortSignal.any([this.#closing.signal, late, ...(signal === undefined ? [] : [signal])]);
    await this.#telemetry.publish(batch, async () => {
      const client = (await orAborted(this.#connection, limit)).jetstream();
      const { stream: streamName, subject } = this.#names;
      const options = { timeout: this.#timeoutMs, expect: { streamName }, ...traceHeader() };
      const sent = toUsageMessages(batch).map(({ id, data }) =>
        client.publish(subject, data, { ...options, msgID: id }),
      );
      await orAborted(Promise.all(sent), limit);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('The publisher is closed.'));
    const connection = await this.#connection.catch(() => undefined);
    await connection?.close();
  }
}

/** The span that publishes, for the consumer to go on with, when it is sampled. */
function traceHeader() {
  const span = activeSpan();
  const traceparent = span?.isRecording() ? traceparentOf(span) : undefined;
  if (traceparent === undefined) return {};
  const sent = headers();
  sent.set('traceparent', traceparent);
  return { headers: sent };
}
