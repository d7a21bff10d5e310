import { outsideTraces } from '@gateway/telemetry';
import { cancelTimer, random, sleep, startInterval, type Timer } from '@gateway/time';
import { RpcError } from '../errors.ts';
import type { ClientSession } from './client-session.ts';

export interface ReplicasOptions {
  /** For error messages: `The limiter (10.0.0.1:50051)`. */
  readonly name: string;
  /** Returns the current addresses of the name. */
  readonly resolve: () => Promise<readonly string[]>;
  /** Opens a session. Rejects when the address can't be reached. */
  readonly connect: (address: string, signal: AbortSignal) => Promise<ClientSession>;
  /** Called when an address becomes unreachable, with the reason. */
  readonly onUnreachable?: ((address: string, problem: Error) => void) | undefined;
  /** How often the name is resolved. A lost connection also triggers it. */
  readonly resolveIntervalMs: number;
  /**
   * The pause after the first failed connection. Each further pause is twice as long, up to 20
   * times the first. A call that needs a replica ends a pause that is longer than the first.
   */
  readonly firstBackoffMs: number;
}

/**
 * The replicas of a service: all addresses of its name, each with a session that is reestablished
 * when lost.
 */
export class Replicas implements Disposable {
  readonly #options: ReplicasOptions;
  readonly #replicas = new Map<string, Replica>();
  /** The sessions that are ready, updated with every change. */
  #sessions: readonly ClientSession[] = [];
  /** Resolves when any replica changes. */
  #change = Promise.withResolvers<void>();
  #firstLookup: Promise<void> | undefined;
  #lookups: Timer | undefined;
  #isClosed = false;

  constructor(options: ReplicasOptions) {
    this.#options = options;
  }

  /**
   * Picks the session for a new call: the less busy of two random ones. Undefined when none is
   * ready.
   */
  pick(): ClientSession | undefined {
    const sessions = this.#sessions;
    const at = Math.floor(random() * sessions.length);
    const first = sessions[at];
    // Any session other than the first.
    const second = sessions[(at + 1 + Math.floor(random() * (sessions.length - 1))) % sessions.length];
    if (first === undefined || second === undefined) return first;
    return second.inFlight < first.inFlight ? second : first;
  }

  /**
   * Resolves when a session may be ready. Rejects with `unavailable` when no replica can be
   * reached now. One that was away a moment ago may be back, so the call does not wait for its next
   * regular attempt.
   */
  async untilReady(): Promise<void> {
    // Connections outlive the call that happens to start them.
    outsideTraces(() => {
      this.#lookups ??= startInterval(() => this.#lookUp(), this.#options.resolveIntervalMs).unref();
      this.#firstLookup ??= this.#lookUp();
    });
    await this.#firstLookup;
    for (;;) {
      if (this.#isClosed) throw new RpcError('unavailable', 'The channel is closed.');
      if (this.#sessions.length > 0) return;
      const replicas = [...this.#replicas.values()];
      for (const { tryNow } of replicas) tryNow?.();
      if (!replicas.some(({ isConnecting }) => isConnecting)) {
        throw new RpcError('unavailable', `${this.#options.name} can't be reached.`);
      }
      await this.#change.promise;
    }
  }

  /** Lets running calls finish; starts no new ones. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    cancelTimer(this.#lookups);
    this.#follow([]);
  }

  async #lookUp(): Promise<void> {
    // A failed name resolution changes nothing.
    const addresses = await this.#options.resolve().catch(() => undefined);
    if (addresses !== undefined && !this.#isClosed) this.#follow(addresses);
  }

  #follow(addresses: readonly string[]): void {
    for (const [address, { removed, session }] of this.#replicas) {
      if (addresses.includes(address)) continue;
      this.#replicas.delete(address);
      removed.abort();
      session?.close();
    }
    for (const address of addresses) {
      if (this.#replicas.has(address)) continue;
      const replica: Replica = { removed: new AbortController(), session: undefined, isConnecting: true };
      this.#replicas.set(address, replica);
      void this.#keepConnected(address, replica);
    }
    this.#announce();
  }

  async #keepConnected(address: string, replica: Replica): Promise<void> {
    const { signal } = replica.removed;
    const { connect, firstBackoffMs, onUnreachable } = this.#options;
    let lastProblem: string | undefined;
    const failed = (problem: Error) => {
      if (!signal.aborted && problem.message !== lastProblem) onUnreachable?.(address, problem);
      lastProblem = problem.message;
    };
    for (let backoffMs = firstBackoffMs; !signal.aborted; backoffMs = Math.min(backoffMs * 2, firstBackoffMs * 20)) {
      replica.isConnecting = true;
      const session = await connect(address, signal).catch(failed);
      if (signal.aborted) return session?.close();
      // Calls wait for a replica that has just been lost.
      replica.isConnecting = session !== undefined;
      if (session !== undefined) {
        backoffMs = firstBackoffMs;
        lastProblem = undefined;
        replica.session = session;
        this.#announce();
        await session.closing;
        replica.session = undefined;
      }
      this.#announce();
      // Jitter keeps clients from reconnecting to a restarted service all at once.
      await sleep(firstBackoffMs * (0.5 + random()), { signal, ref: false }).catch(() => undefined);
      const needed = new AbortController();
      const restMs = (backoffMs - firstBackoffMs) * (0.5 + random());
      replica.tryNow = () => {
        replica.isConnecting = true;
        needed.abort();
      };
      await sleep(restMs, { signal: AbortSignal.any([signal, needed.signal]), ref: false }).catch(() => undefined);
      replica.tryNow = undefined;
    }
  }

  #announce(): void {
    this.#sessions = [...this.#replicas.values()].flatMap(({ session }) => session ?? []);
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/** One address and the session to it. */
interface Replica {
  readonly removed: AbortController;
  session: ClientSession | undefined;
  isConnecting: boolean;
  /** Ends a longer pause. */
  tryNow?: (() => void) | undefined;
}
