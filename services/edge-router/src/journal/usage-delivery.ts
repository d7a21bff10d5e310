import { setTimeout as sleep } from 'node:timers/promises';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';

/** Where finished usage goes: JetStream, or the ingest service itself where there is no broker. */
export interface UsageSink {
  /** Resolves when the events are safe on the other side. May be repeated with the same events. */
  record(events: readonly UsageRecorded[], signal: AbortSignal): Promise<void>;
}

interface Waiting {
  readonly event: UsageRecorded;
  readonly delivered: () => void;
  readonly stopped: (reason: unknown) => void;
}

export interface UsageDeliveryOptions {
  readonly sink: UsageSink;
  readonly onFault: (fault: unknown) => void;
  /** First pause after a failure; doubled up to five seconds. 100 ms unless told. */
  readonly retryMs?: number;
}

const batchSize = 100;
const maxRetryMs = 5_000;
const sendTimeoutMs = 10_000;

/** Hands events to the sink in batches, again and again until each is confirmed. */
export class UsageDelivery implements AsyncDisposable {
  readonly #options: UsageDeliveryOptions;
  readonly #stop = new AbortController();
  readonly #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(options: UsageDeliveryOptions) {
    this.#options = options;
  }

  /** Events that are not confirmed yet. */
  get backlog(): number {
    return this.#waiting.length;
  }

  /** Resolves when every event is confirmed; rejects when delivery stops before. */
  async deliver(events: readonly UsageRecorded[]): Promise<void> {
    await Promise.all(events.map((event) => this.#enqueue(event)));
  }

  /** One last try for what waits, then stops. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#sendBatch(AbortSignal.timeout(1_000)).catch(() => undefined);
    for (const { stopped } of this.#waiting.splice(0)) stopped(new Error('delivery was stopped'));
  }

  #enqueue(event: UsageRecorded): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.reject(new Error('delivery was stopped'));
    return new Promise((delivered, stopped) => {
      this.#waiting.push({ event, delivered, stopped });
      this.#running ??= this.#run().finally(() => {
        this.#running = undefined;
      });
    });
  }

  async #run(): Promise<void> {
    let retryMs = this.#options.retryMs ?? 100;
    // Lets events of the same tick share a batch.
    await Promise.resolve();
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      try {
        await this.#sendBatch(AbortSignal.any([this.#stop.signal, AbortSignal.timeout(sendTimeoutMs)]));
        retryMs = this.#options.retryMs ?? 100;
      } catch (fault) {
        if (!this.#stop.signal.aborted) this.#options.onFault(fault);
        await sleep(retryMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
        retryMs = Math.min(retryMs * 2, maxRetryMs);
      }
    }
  }

  async #sendBatch(signal: AbortSignal): Promise<void> {
    const batch = this.#waiting.slice(0, batchSize);
    if (batch.length === 0) return;
    await this.#options.sink.record(
      batch.map(({ event }) => event),
      signal,
    );
    this.#waiting.splice(0, batch.length);
    for (const { delivered } of batch) delivered();
  }
}
