import { monotonicMs, timeoutSignal } from '@gateway/time';
import { orAborted, type UsageStreamNames } from '@gateway/usage-stream';
import type { Consumer, NatsConnection } from 'nats';

/** A leader answers within milliseconds. */
const answerTimeoutMs = 500;
/** Messages delivered to any replica lie at most this far behind the newest that this one knows. */
const overlapMessages = 500;
const messagesAtOnce = 50;
/** After this time the consumer is asked for messages again. */
const readMs = 1_000;

/**
 * Continues to read the stream while its consumer delivers nothing. When a server of a cluster
 * dies, a consumer has no leader for up to nine seconds, but every server with a copy of the stream
 * returns single messages. The consumer delivers them again later, and the ledger recognises them.
 */
export class ReadAhead {
  readonly #connection: NatsConnection;
  readonly #consumer: Consumer;
  readonly #names: UsageStreamNames;
  /** The newest message that the consumer delivered here. */
  #given = 0;
  /** Where reading continues; undefined while the consumer works. */
  #next: number | undefined;

  constructor(connection: NatsConnection, consumer: Consumer, names: UsageStreamNames) {
    this.#connection = connection;
    this.#consumer = consumer;
    this.#names = names;
  }

  get given(): number {
    return this.#given;
  }

  /** Called when the consumer delivers a message. */
  onGiven(sequence: number): void {
    this.#given = Math.max(this.#given, sequence);
    this.#next = undefined;
  }

  /**
   * Stores what the stream has and the consumer may not have delivered; nothing when the consumer
   * answers. Returns the number of messages.
   */
  async readOn(store: (messages: readonly Uint8Array[]) => Promise<void>): Promise<number> {
    if (await this.#hasLeader()) return 0;
    // Starts after the consumer's last known acknowledgement: earlier messages may be ones that
    // must no longer be stored.
    const { ack_floor: floor } = await this.#consumer.info(true);
    this.#next ??= Math.max(floor.stream_seq + 1, this.#given - overlapMessages);
    let stored = 0;
    for (const untilMs = monotonicMs() + readMs; monotonicMs() < untilMs; ) {
      const messages = await this.#read(this.#next);
      const last = messages.at(-1);
      // There are no more messages, or no server answers: the next call continues here.
      if (last === undefined) break;
      await store(messages.map(({ data }) => data));
      this.#next = last.sequence + 1;
      stored += messages.length;
    }
    return stored;
  }

  /** Reads some messages, starting with this one. A server that lags may lack the last ones. */
  async #read(from: number): Promise<readonly StoredMessage[]> {
    const first = await this.#ask({ seq: from, next_by_subj: this.#names.subject });
    if (first === undefined) return [];
    const others = Array.from({ length: messagesAtOnce - 1 }, (_, n) => this.#ask({ seq: first.sequence + 1 + n }));
    const answers = await Promise.all(others);
    const gap = answers.indexOf(undefined);
    return [first, ...answers.slice(0, gap === -1 ? undefined : gap)].filter((answer) => answer !== undefined);
  }

  /** @see https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-31.md */
  async #ask(query: object): Promise<StoredMessage | undefined> {
    const subject = `$JS.API.DIRECT.GET.${this.#names.stream}`;
    const asked = this.#connection.request(subject, JSON.stringify(query), { timeout: answerTimeoutMs });
    const answer = await asked.catch(() => undefined);
    const sequence = Number(answer?.headers?.get('Nats-Sequence'));
    return answer !== undefined && sequence > 0 ? { sequence, data: answer.data } : undefined;
  }

  async #hasLeader(): Promise<boolean> {
    const answer = orAborted(this.#consumer.info(), timeoutSignal(answerTimeoutMs));
    // Another server may answer instead of a leader. A single server has no cluster.
    const hasLeader = await answer
      .then(({ cluster }) => cluster === undefined || Boolean(cluster.leader))
      .catch(() => false);
    if (hasLeader) this.#next = undefined;
    return hasLeader;
  }
}

interface StoredMessage {
  readonly sequence: number;
  readonly data: Uint8Array;
}
