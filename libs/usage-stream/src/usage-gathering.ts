import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';

export interface UsageGatheringOptions {
  /** Brings events to the next place. Resolves when they are safe there. Called again meanwhile. The signal ends with `timeoutMs`. */
  readonly send: (events: readonly UsageRecorded[], signal: AbortSignal) => Promise<void>;
  /** Two sendings begin so far apart at least, unless there is a full one or somebody hurries. */
  readonly gatherMs: number;
  /** So many events are sent without waiting for more. */
  readonly fullEvents: number;
  /** How long a sending may take. It is its own: none of those whose events are in it can end it for the others. */
  readonly timeoutMs: number;
}

interface Waiting {
  readonly events: readonly UsageRecorded[];
  readonly signal: AbortSignal;
  readonly sent: PromiseWithResolvers<void>;
}

/**
 * Sends usage in groups: what comes alone goes at once, and what comes soon after it waits for the rest of `gatherMs`
 * and goes together. A message or a transaction costs some ten times what an event in it does.
 */
export class UsageGathering {
  readonly #options: UsageGatheringOptions;
  readonly #underWay = new Set<Promise<void>>();
  #waiting: Waiting[] = [];
  #waitingEvents = 0;
  #nextMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UsageGatheringOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the events are safe; rejects when their group could not be sent, which may be repeated, or with the signal. That
   * ends the waiting of this caller alone: its events may be sent all the same.
   */
  record(events: readonly UsageRecorded[], signal: AbortSignal): Promise<void> {
    const sent = Promise.withResolvers<void>();
    if (signal.aborted) return Promise.reject(signal.reason);
    const leave = () => sent.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.push({ events, signal, sent });
    this.#waitingEvents += events.length;
    const pauseMs = this.#nextMs - performance.now();
    if (pauseMs <= 0 || this.#waitingEvents >= this.#options.fullEvents) this.#sendWaiting();
    else this.#timer ??= setTimeout(() => this.#sendWaiting(), pauseMs);
    return sent.promise.finally(() => signal.removeEventListener('abort', leave));
  }

  /** Sends what waits, and resolves when nothing that was recorded before is on its way any more. Never rejects. */
  async flush(): Promise<void> {
    this.#sendWaiting();
    await Promise.all(this.#underWay);
  }

  #sendWaiting(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    const group = this.#waiting;
    this.#waiting = [];
    this.#waitingEvents = 0;
    this.#nextMs = performance.now() + this.#options.gatherMs;
    const sending = this.#send(group).finally(() => this.#underWay.delete(sending));
    this.#underWay.add(sending);
  }

  async #send(group: readonly Waiting[]): Promise<void> {
    const wanted = group.filter(({ signal }) => !signal.aborted);
    if (wanted.length === 0) return;
    try {
      await this.#options.send(
        wanted.flatMap(({ events }) => events),
        AbortSignal.timeout(this.#options.timeoutMs),
      );
      for (const { sent } of wanted) sent.resolve();
    } catch (fault) {
      for (const { sent } of wanted) sent.reject(fault);
    }
  }
}
