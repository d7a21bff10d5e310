import type { Clock } from '@gateway/time';
import type { Check } from './decide.ts';
import type { RemoteLimits } from './limit-store.ts';

export interface FallbackOptions<Remote extends RemoteLimits = RemoteLimits> {
  readonly remote: Remote;
  /** The replicas among which limits are divided while the remote is away. */
  readonly group: string;
  readonly clock: Clock;
  readonly events: FallbackEvents;
  /** What happens while the remote is away: decide alone, or fail. */
  readonly failureMode: 'local' | 'closed';
  /** How long one outage may be bridged; then it fails as `closed`. */
  readonly localMaxMs: number;
  /** Among how many replicas limits are divided at least. */
  readonly leastReplicas: number;
  /** Keys whose window and day total are kept for an outage. */
  readonly maxKeys: number;
  /** How many admissions of the last minute, and how many settles, are kept for an outage. */
  readonly maxKept: number;
  /** How often a remote that is away is asked. */
  readonly probeEveryMs: number;
  /** Whether a remote may come back without its memory: then it is given all that was admitted through this replica. */
  readonly mayForget: boolean;
  /** Whether a failure means that the remote is away. Others are its answer. */
  readonly isOutage: (thrown: unknown) => boolean;
}

export interface FallbackEvents {
  away(thrown: unknown): void;
  back(awayMs: number, handedOver: number): void;
  decidedAlone(check: Check): void;
  /** A settle has to wait for the remote. */
  settleKept?(): void;
  settleDropped?(): void;
  settlesWaiting?(count: number): void;
}
