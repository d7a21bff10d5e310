import { type GatewayError, notNow } from '@gateway/errors';
import type { RemoteLimits, Settlement } from './limit-store.ts';
import type { Check } from './limited-key.ts';

export interface FallbackOptions<Remote extends RemoteLimits = RemoteLimits> {
  readonly remote: Remote;
  /** The replicas that share limits while the remote is away. */
  readonly group: string;
  readonly events: FallbackEvents;
  /** What happens while the remote is away: decide alone, or fail. */
  readonly failureMode: 'local' | 'closed';
  /** How long this replica may decide alone in one outage; after that it fails as `closed`. */
  readonly localMaxMs: number;
  /** The lowest number of replicas that limits are divided by. */
  readonly leastReplicas: number;
  /** How many keys keep their window and day total for an outage. */
  readonly maxKeys: number;
  /** How many admissions of the last minute, and how many settles, are kept for an outage. */
  readonly maxKept: number;
  /** How often a remote that is away is probed. */
  readonly probeEveryMs: number;
  /**
   * Whether a remote may return without its data. If so, it receives everything that was admitted
   * through this replica.
   */
  readonly mayForget: boolean;
  /**
   * Whether a failure means that the remote is away. Any other failure is an answer of the remote.
   */
  readonly isOutage: (thrown: unknown) => boolean;
}

export interface FallbackEvents {
  away(thrown: unknown): void;
  back(awayMs: number, handedOver: number): void;
  decidedAlone(check: Check): void;
  /** A settle was kept until the remote returns. */
  settleKept?(): void;
  settleDropped?(): void;
  /** A settle that was kept is with the remote now. */
  settleReplayed?(settlement: Settlement): void;
  settlesWaiting?(count: number): void;
}

/** The refusal of a replica that may not decide while the remote is away. That may end soon. */
export function mayNotDecide(): GatewayError {
  return notNow('Limits cannot be checked at the moment. Try again later.');
}
