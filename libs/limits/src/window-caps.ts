import { epochMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { WINDOW_MS } from './decide.ts';
import { type ReplicaPlace, replicaSilenceMs, shareOf } from './replica-share.ts';

/** What a replica knew of a window by the last answer about it. */
export interface KnownWindow {
  readonly atMs: number;
  /** Slots that other replicas had taken. */
  readonly others: number;
}

/** What a cap depends on beside the answers. */
export interface CapTerms {
  readonly place: ReplicaPlace;
  /** How many slots this replica holds that it took until then. */
  readonly ownUntil: (untilMs: number) => number;
}

/**
 * How many slots of a window a replica may hold while it can't ask the remote. If all replicas had
 * asked about the window just before, their caps add up to the limit. Otherwise they exceed it by
 * what the others took after the last answer to one of them, at most.
 *
 * In the first minute, a replica keeps the slots that it held at the last answer, and has its share
 * of those that were free. Then replicas go over to their shares of the limit: first those that
 * held more; a minute later, when these slots have left every window, those that held less.
 */
export class WindowCaps {
  readonly #known: LRUCache<string, KnownWindow & { own?: number }>;
  #sinceMs = 0;

  /** @param maxWindows beyond it the least recently used are forgotten. */
  constructor(maxWindows: number) {
    this.#known = new LRUCache({ maxSize: maxWindows, sizeCalculation: () => 1 });
  }

  note(name: string, { atMs, others }: KnownWindow): void {
    this.#known.set(name, { atMs, others });
  }

  /** An outage begins. */
  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    for (const known of this.#known.values()) delete known.own;
  }

  capOf(name: string, limit: number, { place, ownUntil }: CapTerms): number {
    const share = shareOf(limit, place);
    const awayMs = Math.abs(epochMs() - this.#sinceMs);
    const known = this.#known.get(name);
    // Replicas notice an outage at different instants.
    const isOver = awayMs >= 2 * WINDOW_MS + replicaSilenceMs;
    if (known === undefined || isOver || known.atMs <= this.#sinceMs - WINDOW_MS) return share;
    known.own ??= ownUntil(known.atMs);
    const cap = known.own + shareOf(Math.max(0, limit - known.others - known.own), place);
    return awayMs < WINDOW_MS ? cap : Math.min(cap, share);
  }
}
