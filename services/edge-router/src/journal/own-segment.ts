import type { JournalSegment } from './journal-segment.ts';

/** The finals of a segment that do not wait in memory: all of those from some byte on. */
interface Spill {
  readonly fromByte: number;
  readonly sinceMs: number;
  readonly events: number;
}

/** A segment that this process has begun, and what stands in it that is not confirmed. */
export class OwnSegment {
  readonly file: JournalSegment;
  #held = 0;
  #spill: Spill | undefined;
  #headBytes = 0;
  #succeedsOlder = false;
  #damaged = false;

  constructor(file: JournalSegment) {
    this.file = file;
  }

  get spill(): Spill | undefined {
    return this.#spill;
  }

  get isDelivered(): boolean {
    return this.#held === 0 && this.#spill === undefined;
  }

  /** True when what older segments say of requests that have not ended is said here too. */
  get succeedsOlder(): boolean {
    return this.#succeedsOlder;
  }

  /** True when something in it could not be read. */
  get isDamaged(): boolean {
    return this.#damaged;
  }

  /** Large enough to be followed by another one. A large head makes it last longer, or heads would be all there is. */
  isFull(segmentBytes: number): boolean {
    return this.file.sizeBytes - this.#headBytes >= Math.max(segmentBytes, this.#headBytes);
  }

  /** Writes, before anything else, what makes older segments dispensable. False when that failed. */
  async begin(head: string): Promise<boolean> {
    const written = head === '' ? true : this.file.append(head);
    this.#headBytes = this.file.sizeBytes;
    this.#succeedsOlder = await written;
    return this.#succeedsOlder;
  }

  /** A final of it waits in memory. */
  hold(): void {
    this.#held += 1;
  }

  /** One that waited in memory is confirmed, or does not stand here after all. */
  letGo(): void {
    this.#held -= 1;
  }

  /** The final that is appended next does not wait in memory, nor does any that follows. */
  addToSpill(nowMs: number): void {
    const { fromByte, sinceMs, events } = this.#spill ?? { fromByte: this.file.sizeBytes, sinceMs: nowMs, events: 0 };
    this.#spill = { fromByte, sinceMs, events: events + 1 };
  }

  /** One of the spilled finals could not be written. */
  takeFromSpill(): void {
    if (this.#spill !== undefined) this.#spill = { ...this.#spill, events: this.#spill.events - 1 };
  }

  /** What was spilled has been read back and confirmed, as far as it could be read. */
  endSpill(): void {
    this.#spill = undefined;
  }

  markDamaged(): void {
    this.#damaged = true;
  }
}
