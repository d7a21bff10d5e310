import { RpcError } from '@gateway/rpc';
import type { Heartbeat, RemoteLimits } from '../src/limit-store.ts';
import { MemoryLimitStore } from '../src/memory-limit-store.ts';

/**
 * The fate of a call: it is not made, its answer is lost, or the store executes it long after the
 * caller has given up.
 */
export type Away = 'no' | 'before the call' | 'after the call' | 'until it goes on';

/** A remote store in memory that tests can make unreachable or empty. */
export class FlakyStore implements RemoteLimits {
  #away: Away = 'no';
  /**
   * Calls that no caller waits for any more. A store that was frozen executes them when it resumes.
   */
  #late: (() => Promise<unknown>)[] = [];
  /** Awaited before admissions are recorded. */
  beforeRecording: () => Promise<void> | undefined = () => undefined;
  readonly #server: { memory: MemoryLimitStore };

  /** @param sharedWith another connection to the same store, which is away independently. */
  constructor(sharedWith?: FlakyStore) {
    this.#server = sharedWith !== undefined ? sharedWith.#server : { memory: new MemoryLimitStore({ maxKeys: 100 }) };
  }

  get away(): Away {
    return this.#away;
  }

  set away(away: Away) {
    this.#away = away;
    if (away !== 'no') return;
    for (const call of this.#late.splice(0)) void call();
  }

  forgetEverything(): void {
    this.#server.memory = new MemoryLimitStore({ maxKeys: 100 });
  }

  admit(...parameters: Parameters<RemoteLimits['admit']>) {
    return this.#unlessAway(() => this.#server.memory.admit(...parameters));
  }

  settle(...parameters: Parameters<RemoteLimits['settle']>) {
    return this.#unlessAway(() => this.#server.memory.settle(...parameters));
  }

  reserve(...parameters: Parameters<RemoteLimits['reserve']>) {
    return this.#unlessAway(() => this.#server.memory.reserve(...parameters));
  }

  renew(...parameters: Parameters<RemoteLimits['renew']>) {
    return this.#unlessAway(() => this.#server.memory.renew(...parameters));
  }

  heartbeat(beat: Heartbeat) {
    return this.#unlessAway(async () => {
      if (beat.admissions.length > 0) await this.beforeRecording();
      return this.#server.memory.heartbeat(beat);
    });
  }

  async #unlessAway<T>(call: () => Promise<T>): Promise<T> {
    if (this.#away === 'before the call') throw new RpcError('unavailable', 'away');
    if (this.#away === 'until it goes on') {
      this.#late.push(call);
      throw new RpcError('unavailable', 'no answer');
    }
    const answer = await call();
    if (this.#away === 'after the call') throw new RpcError('unavailable', 'answer lost');
    return answer;
  }
}
