import { readdir } from 'node:fs/promises';
import type { Backlog } from './backlog-drain.ts';
import type { JournalDisk } from './journal-disk.ts';
import type { JournalEvents } from './journal-events.ts';
import { JournalLease } from './journal-lease.ts';
import { ownersIn, segmentsOf } from './journal-names.ts';
import { LeftJournal } from './left-journal.ts';

export interface LeftJournalsOptions {
  readonly folder: string;
  readonly disk: JournalDisk;
  readonly events: JournalEvents;
  /** There is something to read back. */
  readonly onBacklog: () => void;
}

/** What dead owners left in the folder, as far as this process has taken it upon itself. */
export class LeftJournals {
  readonly #options: LeftJournalsOptions;
  #journals: readonly LeftJournal[] = [];
  #claiming: Promise<void> | undefined;
  #closed = false;

  constructor(options: LeftJournalsOptions) {
    this.#options = options;
  }

  get segments(): LeftJournal['segments'] {
    return this.#journals.flatMap(({ segments }) => segments);
  }

  /** Takes over what nobody alive answers for. `self` is the owner that this process is. Never rejects. */
  claim(self: string | undefined): Promise<void> {
    this.#claiming ??= this.#claimAll(self).finally(() => {
      this.#claiming = undefined;
    });
    return this.#claiming;
  }

  nextBacklog(): Backlog | undefined {
    for (const journal of this.#journals) {
      const backlog = journal.nextBacklog();
      if (backlog !== undefined) return backlog;
    }
    return undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#claiming;
    await Promise.all(this.#journals.map((journal) => journal.release()));
  }

  async #claimAll(self: string | undefined): Promise<void> {
    await Promise.all(this.#journals.map((journal) => journal.removeDelivered()));
    this.#journals = this.#journals.filter(({ isEnded }) => !isEnded);
    const known = new Set([self, ...this.#journals.map(({ owner }) => owner)]);
    try {
      for (const owner of ownersIn(await readdir(this.#options.folder))) {
        if (this.#closed) return;
        if (!known.has(owner)) await this.#claim(owner);
      }
    } catch (fault) {
      this.#options.events.faulted(fault);
    }
  }

  async #claim(owner: string): Promise<void> {
    const { folder, disk, events, onBacklog } = this.#options;
    const lease = await JournalLease.claim(folder, owner, disk);
    if (lease === undefined) return;
    try {
      // Listed again: until now somebody else may have been at it.
      const names = segmentsOf(owner, await readdir(folder));
      if (names.length === 0) return await lease.end();
      this.#journals = [...this.#journals, await LeftJournal.open({ folder, lease, names, events })];
      onBacklog();
    } catch (fault) {
      lease.release();
      throw fault;
    }
  }
}
