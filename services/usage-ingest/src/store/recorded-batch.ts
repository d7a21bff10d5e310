import type { LedgerEntry } from '../recording/ledger-entry.ts';

/** What became of entries. The others were in the ledger already. */
export interface RecordedBatch {
  readonly fresh: ReadonlySet<LedgerEntry>;
  /** Of days that are no longer kept: they may have been counted already. */
  readonly tooOld: ReadonlySet<LedgerEntry>;
  /** Why the database did not take the entries of the request log. */
  readonly logRefusal?: Error;
}
