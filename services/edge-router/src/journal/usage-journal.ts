import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { encodeRecord, owedEvents } from './journal-record.ts';
import { JournalSegment } from './journal-segment.ts';
import type { UsageDelivery } from './usage-delivery.ts';

export interface UsageJournalOptions {
  readonly folder: string;
  readonly delivery: UsageDelivery;
  /** A segment is followed by a new one at this size; 4 MiB unless told. */
  readonly segmentBytes?: number;
  readonly onFault: (fault: unknown) => void;
}

interface Segment {
  readonly file: JournalSegment;
  /** Requests whose final line stands here and whose delivery is not confirmed. */
  undelivered: number;
}

/**
 * The edge's memory on disk of what it owes the ledger. A request is `open` before its provider is called, and `final`
 * or `void` before its client has the last byte; finals are delivered until the ledger's side confirms them. Killing
 * the process, or cutting it off from the ledger for hours, loses nothing: the next process delivers what is left,
 * under the same request ids.
 */
export class UsageJournal implements AsyncDisposable {
  readonly #options: UsageJournalOptions;
  readonly #segments = new Set<Segment>();
  /** Open lines that a new segment must repeat before an older one may go. */
  readonly #open = new Map<string, UsageRecorded>();
  #active: Segment;
  #rotating: Promise<void> | undefined;

  /** Opens the journal and hands over what earlier processes of this folder left behind. */
  static async open(options: UsageJournalOptions): Promise<UsageJournal> {
    await mkdir(options.folder, { recursive: true });
    const left = await claimLeftSegments(options.folder);
    const journal = new UsageJournal(options, await createSegment(options.folder));
    for (const path of left) void journal.#deliverLeft(path);
    return journal;
  }

  private constructor(options: UsageJournalOptions, active: Segment) {
    this.#options = options;
    this.#active = active;
    this.#segments.add(active);
  }

  /** Notes that a provider is about to be called. Not awaited on the way of a request. */
  open(event: UsageRecorded): void {
    this.#open.set(event.requestId, event);
    this.#append(encodeRecord({ kind: 'open', event }));
  }

  /** Notes that a request ended without a provider's answer. */
  void(requestId: string): void {
    if (this.#open.delete(requestId)) this.#append(encodeRecord({ kind: 'void', requestId }));
  }

  /** Notes how a request ended. Resolves when this survives the death of the process; delivery goes on behind it. */
  async finish(event: UsageRecorded): Promise<void> {
    const segment = this.#active;
    segment.undelivered += 1;
    this.#open.delete(event.requestId);
    const written = segment.file.append(encodeRecord({ kind: 'final', event }));
    void this.#options.delivery.deliver([event]).then(
      () => this.#confirmed(segment),
      () => undefined, // Stopped: the next process delivers it.
    );
    await written.catch(this.#options.onFault);
    if (segment.file.sizeBytes >= (this.#options.segmentBytes ?? 4 * 1024 * 1024)) await this.#rotate();
  }

  /** Stops delivering and closes the files; what is not delivered stays for the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.delivery[Symbol.asyncDispose]();
    await this.#rotating;
    for (const segment of this.#segments) {
      const done = segment.undelivered === 0 && (segment !== this.#active || this.#open.size === 0);
      await (done ? segment.file.remove() : segment.file.close());
    }
  }

  #append(line: string): void {
    this.#active.file.append(line).catch(this.#options.onFault);
  }

  #confirmed(segment: Segment): void {
    segment.undelivered -= 1;
    this.#removeIfDone(segment);
  }

  #removeIfDone(segment: Segment): void {
    if (segment === this.#active || segment.undelivered > 0 || !this.#segments.delete(segment)) return;
    segment.file.remove().catch(this.#options.onFault);
  }

  #rotate(): Promise<void> {
    this.#rotating ??= this.#startSegment().finally(() => {
      this.#rotating = undefined;
    });
    return this.#rotating;
  }

  async #startSegment(): Promise<void> {
    const next = await createSegment(this.#options.folder);
    const previous = this.#active;
    this.#segments.add(next);
    this.#active = next;
    // The older segment may go as soon as its finals are delivered, so open requests move along.
    const repeated = [...this.#open.values()].map((event) => encodeRecord({ kind: 'open', event }));
    if (repeated.length > 0) await next.file.append(repeated.join(''));
    this.#removeIfDone(previous);
  }

  async #deliverLeft(path: string): Promise<void> {
    try {
      const events = owedEvents((await readFile(path, 'utf8')).split('\n'));
      await this.#options.delivery.deliver(events);
      await unlink(path);
    } catch (fault) {
      this.#options.onFault(fault);
    }
  }
}

/** `<pid>-<random>.journal` while its process lives; `left-….journal` once another has taken it over. */
function segmentPath(folder: string): string {
  return join(folder, `${process.pid}-${randomUUID()}.journal`);
}

async function createSegment(folder: string): Promise<Segment> {
  return { file: await JournalSegment.create(segmentPath(folder)), undelivered: 0 };
}

/** Takes over the segments of processes that are gone. Renaming decides when several start at once. */
async function claimLeftSegments(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.journal') && !isOwnedByOther(name));
  const claimed = names.map(async (name) => {
    const path = join(folder, `${process.pid}-left-${randomUUID()}.journal`);
    return rename(join(folder, name), path).then(
      () => path,
      () => undefined,
    );
  });
  return (await Promise.all(claimed)).filter((path) => path !== undefined);
}

/** True when the process named in a segment's file name lives and is not this one. */
function isOwnedByOther(name: string): boolean {
  const pid = Number.parseInt(name, 10);
  if (!Number.isInteger(pid) || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    // EPERM: it lives, under another user.
    return fault instanceof Error && 'code' in fault && fault.code === 'EPERM';
  }
}
