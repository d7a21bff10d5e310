import { setTimeout as sleep } from 'node:timers/promises';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';

/** Where finished usage goes: JetStream, or the ingest service itself where there is no broker. */
export interface UsageSink {
  /** Resolves when the events are safe on the other side. May be repeated with the same events, and be called again meanwhile. */
  record(events: readonly UsageRecorded[], signal: AbortSignal): Promise<void>;
}

export interface UsageDeliveryOptions {
  readonly sink: UsageSink;
  readonly onFault: (fault: unknown) => void;
  /** First pause after a failure; doubled up to five seconds. 100 ms unless told. */
  readonly retryMs?: number;
}

/** Events that go to the sink in one call at most. */
export const batchEvents = 500;
const maxRetryMs = 5_000;
const sendTimeoutMs = 10_000;

/** Hands batches to the sink, again and again until each is confirmed. */
export class UsageDelivery implements Disposable {
  readonly #options: UsageDeliveryOptions;
  readonly #stop = new AbortController();
  /** What ends each call to the sink that is under way. */
  readonly #sending = new Set<(reason: unknown) => void>();
  #retryMs: number;
  #pause: Promise<void> | undefined;
  #pauseEnd = new AbortController();
  #away: PromiseWithResolvers<void> | undefined;

  constructor(options: UsageDeliveryOptions) {
    this.#options = options;
    this.#retryMs = options.retryMs ?? 100;
  }

  /** Resolves when every event is confirmed; rejects when delivery stops before. */
  async deliver(events: readonly UsageRecorded[]): Promise<void> {
    for (;;) {
      while (this.#pause !== undefined) await this.#pause;
      this.#stop.signal.throwIfAborted();
      try {
        await this.#send(events);
        return this.#succeeded();
      } catch (fault) {
        this.#stop.signal.throwIfAborted();
        this.#options.onFault(fault);
        this.#failed();
      }
    }
  }

  /** Resolves as soon as the sink takes events, as far as is known: at once, or when a try succeeds. False once stopped. */
  async whenTaking(): Promise<boolean> {
    await this.#away?.promise;
    return !this.#stop.signal.aborted;
  }

  /** Ends the pause after a failure. */
  retryNow(): void {
    this.#pauseEnd.abort();
  }

  [Symbol.dispose](): void {
    const reason = new Error('delivery was stopped');
    this.#stop.abort(reason);
    for (const giveUp of this.#sending) giveUp(reason);
    this.retryNow();
    this.#away?.resolve();
  }

  async #send(events: readonly UsageRecorded[]): Promise<void> {
    const limit = new AbortController();
    const given = Promise.withResolvers<never>();
    const giveUp = (reason: unknown) => {
      limit.abort(reason);
      given.reject(reason);
    };
    const timer = setTimeout(() => giveUp(new Error('the ledger does not answer')), sendTimeoutMs);
    this.#sending.add(giveUp);
    try {
      // A sink that does not heed the signal must not hold up the retry, or the end of the process.
      await Promise.race([this.#options.sink.record(events, limit.signal), given.promise]);
    } finally {
      clearTimeout(timer);
      this.#sending.delete(giveUp);
    }
  }

  #succeeded(): void {
    this.#retryMs = this.#options.retryMs ?? 100;
    this.#away?.resolve();
    this.#away = undefined;
  }

  #failed(): void {
    this.#away ??= Promise.withResolvers();
    if (this.#pause !== undefined) return;
    this.#pauseEnd = new AbortController();
    this.#pause = sleep(this.#retryMs, undefined, { signal: this.#pauseEnd.signal })
      .catch(() => undefined)
      .finally(() => {
        this.#pause = undefined;
      });
    this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs);
  }
}
