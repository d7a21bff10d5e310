import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { narrowMode } from '@gateway/config';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { type Clock, systemClock } from '@gateway/time';
import { BacklogDrain } from './backlog-drain.ts';
import { type HeldEvent, HeldEvents } from './held-events.ts';
import { type JournalBacklog, measureBacklog } from './journal-backlog.ts';
import { type JournalDisk, localDisk } from './journal-disk.ts';
import type { JournalEvents } from './journal-events.ts';
import { finalLine, openLine, voidLine } from './journal-record.ts';
import type { JournalSync } from './journal-segment.ts';
import { LeftJournals } from './left-journals.ts';
import { OpenRequests } from './open-requests.ts';
import type { OwnSegment } from './own-segment.ts';
import { OwnSegments } from './own-segments.ts';
import type { UsageDelivery } from './usage-delivery.ts';

export interface UsageJournalOptions {
  readonly folder: string;
  readonly delivery: UsageDelivery;
  readonly events: JournalEvents;
  /** So many unconfirmed events wait in memory at most; further ones are on disk only. 10 000 unless told. */
  readonly memoryEvents?: number;
  /** `interval` unless told. */
  readonly sync?: JournalSync;
  /** A segment is followed by a new one at this size; 4 MiB unless told. */
  readonly segmentBytes?: number;
  readonly clock?: Clock;
  readonly disk?: JournalDisk;
  /** How often it looks after itself; a second unless told. */
  readonly tendMs?: number;
  /** How long it goes on delivering what waits in memory when it is closed; a second unless told. */
  readonly lastDeliveryMs?: number;
}

/** Dead owners are looked for at every so many rounds. */
const roundsPerClaim = 5;

/**
 * The edge's memory on disk of what it owes the ledger. A request is `open` before its provider is called, and `final`
 * or `void` before its client has the last byte; finals are delivered until the ledger's side confirms them. Killing
 * the process, or cutting it off from the ledger for hours, loses nothing and takes no more memory: the rest is read
 * back from disk, by this process or the next one of the folder, under the same request ids.
 */
export class UsageJournal implements AsyncDisposable {
  readonly #options: UsageJournalOptions;
  readonly #clock: Clock;
  readonly #open = new OpenRequests();
  readonly #held: HeldEvents;
  readonly #segments: OwnSegments;
  readonly #left: LeftJournals;
  readonly #drain: BacklogDrain;
  readonly #tending: NodeJS.Timeout;
  /** Those that were added last. */
  #writing: FinalsUnderWay | undefined;
  #rounds = 0;

  /**
   * Opens the journal and takes over what dead owners left in its folder. A folder that can't be written at all is a
   * mistake in the settings and rejects; a disk that is full or fails does not.
   */
  static async open(options: UsageJournalOptions): Promise<UsageJournal> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    narrowMode(options.folder);
    await access(options.folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const journal = new UsageJournal(options);
    await journal.tend();
    return journal;
  }

  private constructor(options: UsageJournalOptions) {
    const { folder, delivery, events, disk = localDisk } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const onBacklog = () => this.#drain.wake();
    this.#held = new HeldEvents({
      delivery,
      maxEvents: options.memoryEvents ?? 10_000,
      onConfirmed: (confirmed) => this.#onConfirmed(confirmed),
    });
    this.#segments = new OwnSegments({
      folder,
      disk,
      sync: options.sync ?? 'interval',
      segmentBytes: options.segmentBytes ?? 4 * 1024 * 1024,
      events,
      beginSegment: (segment) => this.#beginSegment(segment),
      onBacklog,
    });
    this.#left = new LeftJournals({ folder, disk, events, onBacklog });
    this.#drain = new BacklogDrain({
      delivery,
      next: () => this.#left.nextBacklog() ?? this.#segments.nextBacklog(),
      onDelivered: events.drained,
      onFault: events.faulted,
    });
    this.#tending = setInterval(() => void this.tend(), options.tendMs ?? 1_000).unref();
  }

  get backlog(): JournalBacklog {
    const parts = { held: this.#held, own: this.#segments.all, left: this.#left.segments };
    return measureBacklog(parts, this.#clock.nowMs());
  }

  /**
   * Notes that a provider is about to be called, or how far it has come. Not awaited on the way of a request. The event may be
   * changed until the request ends: should a new file be begun meanwhile, it has what the event says then.
   */
  open(event: UsageRecorded): void {
    const { active } = this.#segments;
    this.#open.begin(event, active !== undefined);
    active?.file.add(openLine(event));
  }

  /** Notes that a request ended without a provider's answer. */
  void(requestId: string): void {
    if (this.#open.end(requestId)) void this.#writeVoid(requestId);
  }

  /**
   * Notes how a request ended. Resolves when this survives the death of the process, or when the disk has been found not
   * to take it; delivery goes on behind it. Never rejects. The event must not be changed any more.
   */
  finish(event: UsageRecorded): Promise<void> {
    const openOnDisk = this.#open.end(event.requestId);
    const { active } = this.#segments;
    if (active !== undefined) return this.#write(event, openOnDisk, active);
    this.#holdWithoutLine(event);
    if (openOnDisk) this.#open.endNotWritten(event.requestId);
    return noted;
  }

  /** Looks after everything that is not done at once. It does so by itself, once a second. */
  async tend(): Promise<void> {
    this.#options.events.backlogIs(this.backlog);
    if (this.#rounds++ % roundsPerClaim === 0) await this.#left.claim(this.#segments.owner);
    await this.#segments.tend();
    // The disk takes lines again: it is told what it could not be told.
    if (this.#open.owesVoids || this.#held.homeless().length > 0) await this.#segments.beginNext();
  }

  /** Stops delivering and closes the files; what is not delivered stays for the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#tending);
    this.#options.delivery.retryNow();
    await Promise.race([
      this.#held.whenEmpty(),
      sleep(this.#options.lastDeliveryMs ?? 1_000, undefined, { ref: false }),
    ]);
    this.#options.delivery[Symbol.dispose]();
    await this.#drain[Symbol.asyncDispose]();
    await this.#left.close();
    await this.#segments.tend();
    await this.#segments.close(!this.#open.isEmpty);
  }

  #write(event: UsageRecorded, openOnDisk: boolean, segment: OwnSegment): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const held = segment.spill === undefined ? this.#held.offer(event, nowMs, segment) : undefined;
    if (held === undefined) segment.addToSpill(nowMs);
    else segment.hold();
    const written = segment.file.append(finalLine(event));
    if (written !== this.#writing?.written) this.#writing = this.#await(written, segment);
    this.#writing.finals.push({ event, openOnDisk, held });
    return this.#writing.settled;
  }

  #await(written: Promise<boolean>, segment: OwnSegment): FinalsUnderWay {
    const finals: WrittenFinal[] = [];
    const settled = written.then((isWritten) => {
      this.#segments.relieve(segment);
      if (!isWritten) for (const final of finals) this.#notWritten(final, segment);
    });
    return { written, finals, settled };
  }

  /** It waits in memory without a line. */
  #notWritten({ event, openOnDisk, held }: WrittenFinal, segment: OwnSegment): void {
    if (held !== undefined) {
      this.#loseLine(held, segment);
    } else {
      segment.takeFromSpill();
      this.#holdWithoutLine(event);
    }
    if (openOnDisk) this.#open.endNotWritten(event.requestId);
  }

  #holdWithoutLine(event: UsageRecorded): void {
    const held = this.#held.offer(event, this.#clock.nowMs(), undefined);
    if (held === undefined) this.#options.events.lost(event);
  }

  async #writeVoid(requestId: string): Promise<void> {
    const written = await this.#segments.active?.file.append(voidLine(requestId));
    if (written !== true) this.#open.endNotWritten(requestId);
  }

  /** What has not ended, and what has no line anywhere, stands in the new segment first. */
  async #beginSegment(segment: OwnSegment): Promise<void> {
    const handedOver = this.#open.handOver();
    const homeless = this.#held.homeless();
    for (const held of homeless) {
      held.home = segment;
      segment.hold();
    }
    const finals = homeless.map(({ event }) => finalLine(event));
    if (await segment.begin(handedOver.lines + finals.join(''))) handedOver.onWritten();
    else for (const held of homeless) this.#loseLine(held, segment);
  }

  #loseLine(held: HeldEvent, segment: OwnSegment): void {
    if (held.confirmed || held.home !== segment) return;
    held.home = undefined;
    segment.letGo();
  }

  #onConfirmed(confirmed: readonly HeldEvent[]): void {
    for (const { home } of confirmed) home?.letGo();
    void this.#segments.removeDelivered();
  }
}

/** Finals that go out with one write. */
interface FinalsUnderWay {
  readonly written: Promise<boolean>;
  readonly finals: WrittenFinal[];
  /** Resolves when it is known what became of them. */
  readonly settled: Promise<void>;
}

interface WrittenFinal {
  readonly event: UsageRecorded;
  /** Whether its open line may stand on disk. */
  readonly openOnDisk: boolean;
  /** Undefined when it is on disk only. */
  readonly held: HeldEvent | undefined;
}

const noted = Promise.resolve();
