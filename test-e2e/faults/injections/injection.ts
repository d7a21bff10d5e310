import type { ReplicatedServices } from '../../topologies/replicated-services.ts';
import type { Load } from '../load/clients.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { LedgerTap } from './ledger-tap.ts';
import type { TappedEvent, UsageStreamTap } from './usage-stream-tap.ts';

/** The context of an injection. */
export interface FaultScene {
  readonly gateway: ReplicatedServices;
  readonly stream: UsageStreamTap;
  readonly ledger: LedgerTap;
  readonly load: Load;
  readonly random: RandomNumbers;
  readonly effects: Effects;
}

/** Effects of injections that the audit of the ledger must include. */
export interface Effects {
  /** Messages that no ledger can read. */
  poisons: number;
  /** Messages that were published once more. */
  repeated: number;
  /** Batches whose ingest died after the commit and before the acknowledgement. */
  committedAfterDeath: number;
  /** Events that the stream had accepted and lost before they were known to be ingested. */
  readonly wiped: Map<string, TappedEvent>;
}

export type Family = 'events' | 'stream' | 'ingest' | 'NATS' | 'Postgres' | 'Redis' | 'edge' | 'limiter' | 'relay';

/** One way to break something, and to repair it. */
export interface Injection {
  readonly name: string;
  readonly family: Family;
  /** Resolves with its effect when everything runs again. */
  readonly inject: (field: FaultScene) => Promise<string>;
}
