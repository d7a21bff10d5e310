import type { Clock } from '@gateway/time';
import type { LimitStore } from '../src/store/limit-store.ts';
import { MemoryLimitStore } from '../src/store/memory-limit-store.ts';
import type { RemoteLimitStore } from '../src/store/outage-tolerant-store.ts';

/** A remote store in memory that a test takes away, and whose memory it takes. */
export class FlakyStore implements RemoteLimitStore {
  away: 'no' | 'before the call' | 'after the call' = 'no';
  /** Awaited before admissions are recorded. */
  beforeRecording: () => Promise<void> | undefined = () => undefined;
  readonly #clock: Clock;
  #memory: MemoryLimitStore;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#memory = new MemoryLimitStore({ clock, maxKeys: 100 });
  }

  forgetEverything(): void {
    this.#memory = new MemoryLimitStore({ clock: this.#clock, maxKeys: 100 });
  }

  admit(...parameters: Parameters<LimitStore['admit']>) {
    return this.#unlessAway(() => this.#memory.admit(...parameters));
  }

  admitAll(...parameters: Parameters<LimitStore['admitAll']>) {
    return this.#unlessAway(() => this.#memory.admitAll(...parameters));
  }

  settleAll(...parameters: Parameters<LimitStore['settleAll']>) {
    return this.#unlessAway(() => this.#memory.settleAll(...parameters));
  }

  settle(...parameters: Parameters<LimitStore['settle']>) {
    return this.#unlessAway(() => this.#memory.settle(...parameters));
  }

  peek(...parameters: Parameters<LimitStore['peek']>) {
    return this.#unlessAway(() => this.#memory.peek(...parameters));
  }

  rememberDayBase(...parameters: Parameters<LimitStore['rememberDayBase']>) {
    return this.#unlessAway(() => this.#memory.rememberDayBase(...parameters));
  }

  beginReconciliation(...parameters: Parameters<LimitStore['beginReconciliation']>) {
    return this.#unlessAway(() => this.#memory.beginReconciliation(...parameters));
  }

  finishReconciliation(...parameters: Parameters<LimitStore['finishReconciliation']>) {
    return this.#unlessAway(() => this.#memory.finishReconciliation(...parameters));
  }

  recordAdmissions(...parameters: Parameters<RemoteLimitStore['recordAdmissions']>) {
    return this.#unlessAway(async () => {
      await this.beforeRecording();
      await this.#memory.recordAdmissions(...parameters);
    });
  }

  heartbeat(...parameters: Parameters<LimitStore['heartbeat']>) {
    return this.#unlessAway(() => this.#memory.heartbeat(...parameters));
  }

  start(): Promise<void> {
    return this.probe();
  }

  probe(): Promise<void> {
    return this.#unlessAway(async () => undefined);
  }

  async #unlessAway<T>(call: () => Promise<T> | T): Promise<T> {
    if (this.away === 'before the call') throw new Error('away');
    const answer = await call();
    if (this.away === 'after the call') throw new Error('answer lost');
    return answer;
  }
}
