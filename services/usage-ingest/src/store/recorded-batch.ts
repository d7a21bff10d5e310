import type { LedgerEntry } from '../recording/ledger-entry.ts';

/** The result for a batch. Entries that are not listed were already in the ledger. */
export interface RecordedBatch {
  readonly fresh: ReadonlySet<LedgerEntry>;
  /** Entries of days that are no longer kept: they may already have been counted. */
  readonly tooOld: ReadonlySet<LedgerEntry>;
  /** Why the database rejected the entries of the request log. */
  readonly logRefusal?: Error;
}
