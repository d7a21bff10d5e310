import { join } from 'node:path';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Backlog } from './backlog-drain.ts';
import { DiskPulse } from './disk-pulse.ts';
import type { JournalDisk } from './journal-disk.ts';
import type { JournalEvents } from './journal-events.ts';
import { JournalLease } from './journal-lease.ts';
import { segmentName } from './journal-names.ts';
import { JournalSegment, type JournalSync } from './journal-segment.ts';
import { OwnSegment } from './own-segment.ts';
import { readFinals } from './read-finals.ts';
import { removeSegment } from './remove-segment.ts';

export interface OwnSegmentsOptions {
  readonly folder: string;
  readonly disk: JournalDisk;
  readonly sync: JournalSync;
  /** A segment of this size is followed by another one. */
  readonly segmentBytes: number;
  readonly events: JournalEvents;
  /** Writes what a new segment begins with, from the moment on at which it takes the place of the one before. */
  readonly beginSegment: (segment: OwnSegment) => Promise<void>;
  /** There may be something to read back. */
  readonly onBacklog: () => void;
}

/** The segments that this process has begun, oldest first. One of them is written; they go when they are delivered. */
export class OwnSegments {
  readonly #options: OwnSegmentsOptions;
  readonly #pulse = new DiskPulse();
  readonly #segments: OwnSegment[] = [];
  readonly #readBack = new WeakSet<OwnSegment>();
  #lease: JournalLease | undefined;
  #active: OwnSegment | undefined;
  #begun = 0;
  #beginning: Promise<void> | undefined;
  #removing: Promise<void> | undefined;
  #beginFailed = false;
  #closed = false;

  constructor(options: OwnSegmentsOptions) {
    this.#options = options;
  }

  /** Where lines go; undefined while the disk takes none. */
  get active(): OwnSegment | undefined {
    return this.#active;
  }

  get all(): readonly OwnSegment[] {
    return this.#segments;
  }

  get owner(): string | undefined {
    return this.#lease?.owner;
  }

  /** Lets a segment that has grown enough be followed by another one, behind the requests. */
  relieve(segment: OwnSegment): void {
    if (segment === this.#active && segment.isFull(this.#options.segmentBytes)) void this.beginNext();
  }

  /** Begins a segment. Never rejects: while the disk does not let it, `tend` tries again. */
  beginNext(): Promise<void> {
    if (this.#beginFailed || this.#closed) return Promise.resolve();
    this.#beginning ??= this.#begin().finally(() => {
      this.#beginning = undefined;
    });
    return this.#beginning;
  }

  /** Tries again what has failed, and forces onto the disk what was written. Called once a second. */
  async tend(): Promise<void> {
    this.#beginFailed = false;
    if (this.#active === undefined) await this.beginNext();
    else if (this.#options.sync === 'interval') await this.#active.file.sync();
    await this.removeDelivered();
    this.#options.onBacklog();
  }

  /** The oldest part that has to be read back and that nobody reads yet. */
  nextBacklog(): Backlog | undefined {
    const segment = this.#segments.find((each) => each.spill !== undefined && !this.#readBack.has(each));
    if (segment === undefined || segment === this.#active) {
      // It is read when it grows no more, and it must not have to wait for further requests.
      if (segment !== undefined) void this.beginNext();
      return undefined;
    }
    this.#readBack.add(segment);
    const end = () => {
      segment.endSpill();
      void this.removeDelivered();
    };
    return {
      read: () => this.#readSpill(segment),
      delivered: end,
      unreadable: () => {
        segment.markDamaged();
        end();
      },
    };
  }

  removeDelivered(): Promise<void> {
    // The latest one stays, and most of the time there is no other.
    if (this.#segments.length < 2) return nothingRemoved;
    this.#removing ??= this.#removeInOrder(false).finally(() => {
      this.#removing = undefined;
    });
    return this.#removing;
  }

  /** Closes the files. What is not delivered, or has not ended, stays for the next process. */
  async close(hasOpenRequests: boolean): Promise<void> {
    this.#closed = true;
    await this.#beginning;
    await this.#removing;
    await Promise.all(this.#segments.map(({ file }) => file.close()));
    await this.#removeInOrder(!hasOpenRequests);
    if (this.#segments.length === 0) await this.#lease?.end().catch(this.#options.events.faulted);
    else this.#lease?.release();
  }

  async #begin(): Promise<void> {
    const { folder, disk, sync, events, beginSegment, onBacklog } = this.#options;
    try {
      this.#lease ??= await JournalLease.take(folder, disk);
      const path = join(folder, segmentName(this.#lease.owner, this.#begun++));
      const onFailed = (fault: unknown) => {
        events.writeFailed(fault);
        if (this.#active?.file.path === path) this.#active = undefined;
      };
      const next = new OwnSegment(await JournalSegment.create(path, { disk, pulse: this.#pulse, sync, onFailed }));
      const previous = this.#active;
      this.#segments.push(next);
      this.#active = next;
      void beginSegment(next).then(() => this.removeDelivered());
      void previous?.file.close();
      onBacklog();
    } catch (fault) {
      this.#beginFailed = true;
      events.writeFailed(fault);
    }
  }

  async *#readSpill(segment: OwnSegment): AsyncGenerator<readonly UsageRecorded[]> {
    await segment.file.close();
    yield* readFinals({
      path: segment.file.path,
      fromByte: segment.spill?.fromByte ?? 0,
      onDamage: (damage) => {
        this.#options.events.lineDamaged(damage, segment.file.path);
        if (damage === 'corrupt') segment.markDamaged();
      },
    });
  }

  /** The oldest goes first: what ends a request on disk must outlive what begins it, or the request would be booked as cut. */
  async #removeInOrder(withLast: boolean): Promise<void> {
    try {
      for (let first = this.#segments[0]; first !== undefined; first = this.#segments[0]) {
        const isDispensable = withLast || this.#segments.some((each) => each !== first && each.succeedsOlder);
        if (!isDispensable || !first.isDelivered) return;
        await first.file.close();
        await removeSegment(first.file.path, first.isDamaged);
        this.#segments.shift();
      }
    } catch (fault) {
      this.#options.events.faulted(fault);
    }
  }
}

const nothingRemoved = Promise.resolve();
