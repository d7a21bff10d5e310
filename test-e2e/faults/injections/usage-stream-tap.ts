import { fromUsageMessage, usageStreamNames } from '@gateway/usage-stream';
import { type ConsumerInfo, connect, type NatsConnection, type StreamState } from 'nats';
import { ledgerRowsOf } from '../audit/read-outboxes.ts';

/** A request record in transit, in the stream or in an outbox. */
export interface TappedEvent {
  readonly requestId: string;
  readonly tokenId: string;
  readonly tokens: number;
  readonly admittedAtMs: number;
}

const { stream, subject, consumer } = usageStreamNames;

/** An operator's access to the usage stream: reads, repeats, corrupts, fills and wipes it. */
export class UsageStreamTap implements AsyncDisposable {
  readonly #connection: NatsConnection;

  static async open(url: string): Promise<UsageStreamTap> {
    const servers = new URL(url).host;
    return new UsageStreamTap(await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 250 }));
  }

  private constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  async state(): Promise<StreamState> {
    const manager = await this.#connection.jetstreamManager();
    return (await manager.streams.info(stream)).state;
  }

  async consumerInfo(): Promise<ConsumerInfo> {
    const manager = await this.#connection.jetstreamManager();
    return manager.consumers.info(stream, consumer);
  }

  /** Stored messages that are neither delivered nor, as far as the server knows, finished. */
  async backlog(): Promise<number> {
    const { num_pending: waiting, num_ack_pending: unacknowledged } = await this.consumerInfo();
    return waiting + unacknowledged;
  }

  /** The bytes of the messages of a range, both ends included. Missing messages are left out. */
  async read(fromSequence: number, toSequence: number): Promise<readonly Uint8Array[]> {
    const manager = await this.#connection.jetstreamManager();
    const messages: Uint8Array[] = [];
    for (let seq = Math.max(1, fromSequence); seq <= toSequence; seq++) {
      const message = await manager.streams.getMessage(stream, { seq }).catch(() => undefined);
      if (message !== undefined) messages.push(message.data);
    }
    return messages;
  }

  /** Resolves when the stream has the bytes, under no id that it could know. */
  async publish(data: Uint8Array): Promise<void> {
    await this.#connection.jetstream().publish(subject, data);
  }

  /** Limits the stream to this many further messages; undefined: no limit. */
  async limitTo(further: number | undefined): Promise<void> {
    const manager = await this.#connection.jetstreamManager();
    // -1 is JetStream's "no limit".
    const limit = further === undefined ? -1 : (await this.state()).messages + further;
    await manager.streams.update(stream, { max_msgs: limit });
  }

  async purgeTo(sequence: number): Promise<void> {
    const manager = await this.#connection.jetstreamManager();
    await manager.streams.purge(stream, { seq: sequence + 1 });
  }

  async delete(): Promise<void> {
    const manager = await this.#connection.jetstreamManager();
    await manager.streams.delete(stream);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#connection.close();
  }
}

/** The events of a message; empty if it holds something else. */
export function eventsIn(data: Uint8Array): readonly TappedEvent[] {
  try {
    return fromUsageMessage(data).flatMap((record) => {
      const { tokenId, admittedAtMs } = record;
      return ledgerRowsOf(record).map(({ requestId, tokens }) => ({ requestId, tokenId, tokens, admittedAtMs }));
    });
  } catch {
    return [];
  }
}
