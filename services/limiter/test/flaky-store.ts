import { type LimitStore, MemoryLimitStore } from '@gateway/limits';
import type { Clock } from '@gateway/time';

/** A remote store in memory that a test takes away, and whose memory it takes. */
export class FlakyStore implements LimitStore {
  away: 'no' | 'before the call' | 'after the call' = 'no';
  /** Awaited before admissions are recorded. */
  beforeRecording: () => Promise<void> | undefined = () => undefined;
  readonly #clock: Clock;
  readonly #server: { memory: MemoryLimitStore };

  /** @param sharedWith another way to the same store, which is away by itself. */
  constructor(clock: Clock, sharedWith?: FlakyStore) {
    this.#clock = clock;
    this.#server =
      sharedWith !== undefined ? sharedWith.#server : { memory: new MemoryLimitStore({ clock, maxKeys: 100 }) };
  }

  forgetEverything(): void {
    this.#server.memory = new MemoryLimitStore({ clock: this.#clock, maxKeys: 100 });
  }

  admit(...parameters: Parameters<LimitStore['admit']>) {
    return this.#unlessAway(() => this.#server.memory.admit(...parameters));
  }

  settle(...parameters: Parameters<LimitStore['settle']>) {
    return this.#unlessAway(() => this.#server.memory.settle(...parameters));
  }

  pendingIds(key: string, day: string) {
    return this.#unlessAway(() => this.#server.memory.pendingIds(key, day));
  }

  reloadDay(...parameters: Parameters<LimitStore['reloadDay']>) {
    return this.#unlessAway(() => this.#server.memory.reloadDay(...parameters));
  }

  heartbeat(...[group, replicaId, admissions]: Parameters<LimitStore['heartbeat']>) {
    return this.#unlessAway(async () => {
      if (admissions.length > 0) await this.beforeRecording();
      return this.#server.memory.heartbeat(group, replicaId, admissions);
    });
  }

  start(): Promise<void> {
    return this.#unlessAway(async () => undefined);
  }

  async #unlessAway<T>(call: () => Promise<T>): Promise<T> {
    if (this.away === 'before the call') throw new Error('away');
    const answer = await call();
    if (this.away === 'after the call') throw new Error('answer lost');
    return answer;
  }
}
