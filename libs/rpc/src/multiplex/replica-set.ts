import { RpcError } from '../rpc-error.ts';
import type { ClientCall, Dispatcher } from './client-call.ts';
import { type Network, type Place, Replica, type ReplicaTimes } from './replica.ts';

export interface ReplicaSetOptions {
  /** What callers know the replicas by. */
  readonly name: string;
  /** The addresses that the name stands for now. */
  readonly resolve: () => Promise<readonly string[]>;
  readonly network: Network;
  readonly times: ReplicaTimes;
  /** How often the name is looked up. */
  readonly resolveMs: number;
  readonly random?: () => number;
}

/**
 * All replicas behind a name, as they come and go. A call goes to the less busy of two that are picked at random. While
 * none is there, it waits for the first that can be reached, and fails when none can.
 */
export class ReplicaSet implements Dispatcher, Disposable {
  readonly #options: ReplicaSetOptions;
  readonly #random: () => number;
  readonly #replicas = new Map<string, Replica>();
  #places: readonly Place[] = [];
  #waiting: ClientCall[] = [];
  #state: 'idle' | 'resolving' | 'resolved' | 'closed' = 'idle';
  #lookupFailure: unknown;
  #timer: NodeJS.Timeout | undefined;
  #lastLookup = Number.NEGATIVE_INFINITY;

  constructor(options: ReplicaSetOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  dispatch(call: ClientCall): void {
    const place = this.#pick();
    if (place !== undefined) return place.start(call);
    if (this.#state === 'idle') void this.#lookUp();
    const failure = this.#failure();
    if (failure !== undefined) return call.onFailure(failure);
    this.#waiting.push(call);
  }

  [Symbol.dispose](): void {
    this.#state = 'closed';
    clearTimeout(this.#timer);
    for (const replica of this.#replicas.values()) replica.retire();
    this.#replicas.clear();
    this.#onChange();
  }

  #pick(): Place | undefined {
    const count = this.#places.length;
    if (count < 2) return this.#places[0];
    const first = Math.floor(this.#random() * count);
    const second = (first + 1 + Math.floor(this.#random() * (count - 1))) % count;
    const [one, other] = [this.#places[first], this.#places[second]];
    return one !== undefined && other !== undefined && other.inFlight < one.inFlight ? other : one;
  }

  /** Why a call that finds no place fails at once. Undefined: there is hope, so it waits. */
  #failure(): RpcError | undefined {
    if (this.#state === 'closed') return new RpcError('unavailable', 'The channel is closed.');
    if (this.#replicas.size === 0) {
      return this.#lookupFailure === undefined ? undefined : this.#unreachable(this.#lookupFailure);
    }
    const failures = [...this.#replicas.values()].map((replica) => replica.failure);
    return failures.includes(undefined) ? undefined : this.#unreachable(failures[0]);
  }

  #unreachable(cause: unknown): RpcError {
    return new RpcError('unavailable', `No replica of ${this.#options.name} can be reached.`, { cause });
  }

  #onChange(): void {
    const before = this.#places.length;
    this.#places = [...this.#replicas.values()].flatMap(({ place }) => (place === undefined ? [] : [place]));
    if (this.#places.length < before || this.#places.length === 0) this.#lookUpSoon();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const call of waiting) if (!call.isOver) this.dispatch(call);
  }

  async #lookUp(): Promise<void> {
    if (this.#state === 'closed' || this.#state === 'resolving') return;
    this.#state = 'resolving';
    this.#lastLookup = performance.now();
    const outcome = await this.#options.resolve().then(
      (addresses) => ({ addresses }),
      (cause: unknown) => ({ cause }),
    );
    this.#onLookedUp(outcome);
  }

  #onLookedUp(outcome: { readonly addresses: readonly string[] } | { readonly cause: unknown }): void {
    if (this.#state === 'closed') return;
    this.#state = 'resolved';
    if ('addresses' in outcome && outcome.addresses.length > 0) {
      this.#lookupFailure = undefined;
      this.#follow(outcome.addresses);
      this.#lookUpIn(this.#options.resolveMs);
    } else {
      // Whoever is known stays: a name server that is away takes no replica with it.
      this.#lookupFailure = 'cause' in outcome ? outcome.cause : new Error('The name stands for no address.');
      this.#lookUpIn(this.#options.times.longestBackoffMs);
    }
    this.#onChange();
  }

  #follow(addresses: readonly string[]): void {
    for (const [address, replica] of this.#replicas) {
      if (addresses.includes(address)) continue;
      this.#replicas.delete(address);
      replica.retire();
    }
    const { network, times } = this.#options;
    for (const address of addresses) {
      if (this.#replicas.has(address)) continue;
      this.#replicas.set(address, new Replica(address, network, times, () => this.#onChange()));
    }
  }

  /** Somebody is missing: the name may stand for others by now. */
  #lookUpSoon(): void {
    if (this.#state !== 'resolved') return;
    const { longestBackoffMs } = this.#options.times;
    this.#lookUpIn(Math.max(0, this.#lastLookup + longestBackoffMs - performance.now()));
  }

  #lookUpIn(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#lookUp(), delayMs).unref();
  }
}
