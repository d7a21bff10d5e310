import type { ReplicatedServices } from '../../topologies/replicated-services.ts';
import type { Load } from '../load/clients.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { LedgerTap } from './ledger-tap.ts';
import type { TappedEvent, UsageStreamTap } from './usage-stream-tap.ts';

/** What an injection needs at hand. */
export interface FaultScene {
  readonly gateway: ReplicatedServices;
  readonly stream: UsageStreamTap;
  readonly ledger: LedgerTap;
  readonly load: Load;
  readonly random: RandomNumbers;
  readonly effects: Effects;
}

/** What injections did that the ledger must be judged by. */
export interface Effects {
  /** Messages that no ledger can understand. */
  poisons: number;
  /** Messages that were published once more. */
  repeated: number;
  /** Batches that were committed by an ingest which was dead by then, so that they were not acknowledged. */
  committedAfterDeath: number;
  /** What the stream had taken and lost before it was known to be ingested. */
  readonly wiped: Map<string, TappedEvent>;
}

export type Family = 'events' | 'stream' | 'ingest' | 'NATS' | 'Postgres' | 'Redis' | 'edge' | 'limiter' | 'relay';

/** One way to break something, and to mend it again. */
export interface Injection {
  readonly name: string;
  readonly family: Family;
  /** Resolves with what it did when everything runs again. */
  readonly inject: (field: FaultScene) => Promise<string>;
}
