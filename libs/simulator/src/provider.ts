import type { FaultBook } from './faults/fault-book.ts';
import type { Models } from './models.ts';
import type { TokenFamilies } from './oauth/token-families.ts';
import type { FormatName } from './provider-request.ts';
import type { Recorder } from './record.ts';
import type { SimulatedFormat } from './simulated-format.ts';

/** All parts of a simulated provider. */
export interface Provider {
  readonly formats: Readonly<Record<FormatName, SimulatedFormat>>;
  readonly tokens: TokenFamilies;
  readonly models: Models;
  readonly faults: FaultBook;
  readonly recorder: Recorder;
  /** The interval between events of a stream, unless a fault changes it. */
  readonly eventDelayMs: number;
}
