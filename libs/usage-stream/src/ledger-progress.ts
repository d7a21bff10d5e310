import { sleep, timeoutSignal } from '@gateway/time';
import type { NatsConnection } from 'nats';
import { connectNats, type NatsWatchers } from './connect-nats.ts';
import type { NatsServers } from './nats-servers.ts';
import { type UsageStreamNames, usageStreamNames } from './usage-stream.ts';

/** Pause between two reads of the consumer's state. */
const pollMs = 15;

/**
 * How far the ledger has caught up with the stream: the consumer acknowledges a message when it is
 * committed.
 */
export class LedgerProgress implements AsyncDisposable {
  readonly #names: UsageStreamNames;
  readonly #closing = new AbortController();
  readonly #connecting: Promise<unknown>;
  #connection: NatsConnection | undefined;

  /** Connects in the background. */
  constructor(servers: NatsServers, watchers: NatsWatchers, names = usageStreamNames) {
    this.#names = names;
    this.#connecting = connectNats(servers, watchers, this.#closing.signal).then(
      (connection) => {
        this.#connection = connection;
      },
      () => undefined,
    );
  }

  /**
   * Resolves when everything that the stream accepted before the call is in the ledger.
   * @throws when NATS does not confirm it within `timeoutMs`.
   */
  async untilRecorded(timeoutMs: number): Promise<void> {
    if (this.#connection === undefined || this.#connection.isClosed())
      throw new Error('there is no connection to NATS');
    const signal = AbortSignal.any([this.#closing.signal, timeoutSignal(timeoutMs)]);
    const manager = await this.#connection.jetstreamManager({ timeout: timeoutMs, checkAPI: false });
    const { stream, consumer } = this.#names;
    // Both run at once: messages accepted before the call are included in both numbers.
    const lastTaken = manager.streams.info(stream).then(({ state }) => state.last_seq);
    for (;;) {
      const [target, progress] = await Promise.all([lastTaken, manager.consumers.info(stream, consumer)]);
      const isAllStored = progress.num_pending + progress.num_ack_pending === 0;
      if (isAllStored || progress.ack_floor.stream_seq >= target) return;
      await sleep(pollMs, { signal });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('The service is stopping.'));
    await this.#connecting;
    await this.#connection?.close();
  }
}
