import type { Clock } from '@gateway/time';
import type { UsageReader } from './store/usage-reader.ts';

/** What the RPCs work with. */
export interface UsageQuery {
  readonly reader: UsageReader;
  readonly clock: Clock;
  /** How long GetUsage waits for requests that are not in the ledger yet. */
  readonly waitMs: number;
  /** Hurries usage that is still gathered in this process into the ledger. Absent where the ledger's writer is another one. */
  readonly flush?: () => Promise<void>;
}
