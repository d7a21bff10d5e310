import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Backlog } from './backlog-drain.ts';
import type { JournalEvents } from './journal-events.ts';
import type { JournalLease } from './journal-lease.ts';
import { readFinals } from './read-finals.ts';
import { removeSegment } from './remove-segment.ts';
import { UnendedRequests } from './unended-requests.ts';
import { batchEvents } from './usage-delivery.ts';

interface LeftSegment {
  readonly path: string;
  readonly bytes: number;
  readonly sinceMs: number;
  delivered: boolean;
  damaged: boolean;
}

export interface LeftJournalOptions {
  readonly folder: string;
  readonly lease: JournalLease;
  /** Its segments, in the order in which they were begun. */
  readonly names: readonly string[];
  readonly events: JournalEvents;
}

/**
 * What a dead owner left behind: his finals are delivered, then his requests that have no end are booked as far as they
 * are known. Nothing on disk says that somebody is at it: should this process die as well, the next one finds
 * everything as it was, but for what is confirmed.
 */
export class LeftJournal {
  readonly #lease: JournalLease;
  readonly #events: JournalEvents;
  readonly #segments: LeftSegment[];
  readonly #unended = new UnendedRequests<LeftSegment>();
  readonly #backlogs: Backlog[];
  #cutDelivered = false;
  #removing: Promise<void> | undefined;
  #ended = false;

  static async open({ folder, lease, names, events }: LeftJournalOptions): Promise<LeftJournal> {
    const segments = names.map(async (name) => {
      const path = join(folder, name);
      const { size, birthtimeMs, mtimeMs } = await stat(path);
      return { path, bytes: size, sinceMs: birthtimeMs || mtimeMs, delivered: false, damaged: false };
    });
    return new LeftJournal(lease, await Promise.all(segments), events);
  }

  private constructor(lease: JournalLease, segments: LeftSegment[], events: JournalEvents) {
    this.#lease = lease;
    this.#segments = segments;
    this.#events = events;
    this.#backlogs = [...segments.map((segment) => this.#finalsOf(segment)), this.#cutRequests()];
  }

  get owner(): string {
    return this.#lease.owner;
  }

  /** True when it has nothing left, on disk or otherwise. */
  get isEnded(): boolean {
    return this.#ended;
  }

  get segments(): readonly Readonly<LeftSegment>[] {
    return this.#segments;
  }

  /** Its parts, each once, in the order in which they have to be read. */
  nextBacklog(): Backlog | undefined {
    return this.#backlogs.shift();
  }

  /** Removes what is delivered. Never rejects: what can't be removed yet is tried again with the next call. */
  removeDelivered(): Promise<void> {
    this.#removing ??= this.#removeInOrder().finally(() => {
      this.#removing = undefined;
    });
    return this.#removing;
  }

  /** Leaves the rest to another process. */
  async release(): Promise<void> {
    await this.#removing;
    if (!this.#ended) this.#lease.release();
    this.#ended = true;
  }

  #finalsOf(segment: LeftSegment): Backlog {
    const delivered = () => {
      segment.delivered = true;
      void this.removeDelivered();
    };
    return {
      read: () => this.#readFinals(segment),
      delivered,
      unreadable: () => {
        segment.damaged = true;
        delivered();
      },
    };
  }

  #readFinals(segment: LeftSegment): AsyncIterable<readonly UsageRecorded[]> {
    return readFinals({
      path: segment.path,
      fromByte: 0,
      tracker: this.#unended.in(segment),
      onDamage: (damage) => {
        if (damage === 'corrupt') segment.damaged = true;
        this.#events.lineDamaged(damage, segment.path);
      },
    });
  }

  /** Comes last: only now is it known which requests nothing ends. */
  #cutRequests(): Backlog {
    const delivered = () => {
      this.#unended.clear();
      this.#cutDelivered = true;
      void this.removeDelivered();
    };
    return { read: () => this.#readCutRequests(), delivered, unreadable: delivered };
  }

  async *#readCutRequests(): AsyncGenerator<readonly UsageRecorded[]> {
    const events = this.#unended.cut((segment) => {
      segment.damaged = true;
      this.#events.lineDamaged('corrupt', segment.path);
    });
    for (let start = 0; start < events.length; start += batchEvents) yield events.slice(start, start + batchEvents);
  }

  /** The oldest goes first: what ends a request on disk must outlive what begins it, or the request would be booked as cut. */
  async #removeInOrder(): Promise<void> {
    try {
      for (let first = this.#segments[0]; first !== undefined; first = this.#segments[0]) {
        if (this.#ended || !first.delivered || this.#unended.isNeeded(first)) return;
        await removeSegment(first.path, first.damaged);
        this.#segments.shift();
      }
      if (this.#ended || !this.#cutDelivered) return;
      await this.#lease.end();
      this.#ended = true;
    } catch (fault) {
      this.#events.faulted(fault);
    }
  }
}
