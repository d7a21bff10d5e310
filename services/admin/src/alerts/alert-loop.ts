import type { Counter, Logger, Metrics } from '@gateway/telemetry';
import { epochMs, localDayOf, monotonicMs, sleep, timeoutSignal } from '@gateway/time';
import type { FigureReader } from '../figures/figure-reader.ts';
import type { AdminPeers } from '../parts.ts';
import type { AlertSender } from './alert-sender.ts';
import type { AlertStore } from './alert-store.ts';
import { type AlertKind, causesOf } from './causes.ts';
import { readGroupUses, readReceivers, readTokenUses } from './readings.ts';
import type { Receiver } from './receiver.ts';

export interface AlertLoopOptions {
  readonly peers: AdminPeers;
  readonly figures: Pick<FigureReader, 'read'>;
  readonly store: AlertStore;
  readonly sender: AlertSender;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly intervalMs: number;
}

/** Finds what receivers must be warned about, and sends it. */
export class AlertLoop {
  readonly #options: AlertLoopOptions;
  readonly #stop = new AbortController();
  readonly #counter: Counter<'result'>;
  #loop: Promise<void> | undefined;
  #receivers: readonly Receiver[] = [];
  /** The messages of the last round: most causes last. */
  #noted: ReadonlySet<string> = new Set();

  constructor(options: AlertLoopOptions) {
    this.#options = options;
    this.#counter = options.metrics.counter({
      name: 'gateway_admin_alerts_total',
      help: 'Attempts to send a warning to a receiver, by result.',
      labels: ['result'],
    });
    for (const result of ['sent', 'retry', 'failed']) this.#counter.inc({ result }, 0);
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { intervalMs } = this.#options;
    const { signal } = this.#stop;
    let roundAtMs = monotonicMs() + intervalMs;
    let pauseMs = intervalMs;
    while (!signal.aborted) {
      await sleep(pauseMs, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      if (monotonicMs() >= roundAtMs) {
        roundAtMs = monotonicMs() + intervalMs;
        await this.#attempt('warnings could not be found', () => this.#findCauses());
      }
      const dueMs = await this.#attempt('warnings could not be sent', () => this.#sendDue());
      const untilRoundMs = roundAtMs - monotonicMs();
      const untilDueMs = dueMs === undefined ? untilRoundMs : Math.max(shortestPauseMs, dueMs - epochMs());
      pauseMs = Math.max(0, Math.min(untilRoundMs, untilDueMs));
    }
  }

  async #findCauses(): Promise<void> {
    const { peers, figures, store } = this.#options;
    const signal = AbortSignal.any([this.#stop.signal, timeoutSignal(roundTimeoutMs)]);
    const receivers = await this.#attempt('the receivers of warnings could not be read', () =>
      readReceivers(peers, signal),
    );
    // While the broker is away, those that were known last are warned of what the others know.
    this.#receivers = receivers ?? this.#receivers;
    const nowMs = epochMs();
    // A source that fails silences no other one, and is read again in the next round.
    const read = async <T>(kinds: readonly AlertKind[], source: () => Promise<readonly T[]>) => {
      const isWanted = this.#receivers.some((receiver) => kinds.some((kind) => receiver.kinds.has(kind)));
      if (!isWanted) return [];
      return (await this.#attempt(`causes of warnings could not be read: ${kinds.join(', ')}`, source)) ?? [];
    };
    const [tokens, groups, findings] = await Promise.all([
      read(['tokens_per_day'], () => readTokenUses(peers, nowMs, signal)),
      read(['group_tokens_per_day', 'budget'], () => readGroupUses(peers, signal)),
      read(['account', 'pool', 'people'], async () => (await figures.read(signal)).overview.attention),
    ]);
    const causes = causesOf([...tokens, ...groups], findings, localDayOf(nowMs));
    const noted = this.#receivers.flatMap(({ name: receiver, kinds }) =>
      causes.filter(({ kind }) => kinds.has(kind)).map((cause) => ({ receiver, cause })),
    );
    const isNew = (key: string) => !this.#noted.has(key);
    const keys = noted.map(({ receiver, cause }) => JSON.stringify([receiver, cause.cause, cause.period]));
    await store.note(noted.filter((_, index) => isNew(keys[index] ?? '')));
    this.#noted = new Set(keys);
    await store.clean();
  }

  /** Sends what is due, and returns when the next attempt is. */
  async #sendDue(): Promise<number | undefined> {
    const { store } = this.#options;
    const names = this.#receivers.map(({ name }) => name);
    if (names.length === 0) return undefined;
    await Promise.all(this.#receivers.map((receiver) => this.#sendTo(receiver)));
    return await store.nextDueMs(names);
  }

  /** One message at a time. After a failure the others wait: the receiver may be away. */
  async #sendTo(receiver: Receiver): Promise<void> {
    const { store, sender, logger } = this.#options;
    const endAtMs = monotonicMs() + sendingMs;
    for (const row of await store.due(receiver.name)) {
      // A slow receiver must not delay the others for long.
      if (monotonicMs() > endAtMs) return;
      const claimed = await store.claim(row);
      if (claimed === undefined) continue;
      const ending = await sender.attempt(claimed, receiver, this.#stop.signal);
      await store.end(claimed, ending);
      this.#counter.inc({ result: ending.state });
      if (ending.state === 'sent') continue;
      const { alert_id, attempts, kind } = claimed;
      logger.warn(
        { alert_id, attempts, kind, receiver: receiver.name, answer: ending.answer, result: ending.state },
        'a receiver did not accept a warning',
      );
      if (ending.dueAtMs !== undefined) return await store.postpone(receiver.name, ending.dueAtMs);
    }
  }

  /** Logs a failure, and returns undefined. */
  async #attempt<T>(text: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (thrown) {
      if (!this.#stop.signal.aborted) this.#options.logger.warn({ err: thrown }, text);
      return undefined;
    }
  }
}

const roundTimeoutMs = 30_000;
const shortestPauseMs = 1_000;
const sendingMs = 5_000;
