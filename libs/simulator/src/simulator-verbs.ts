import type { FaultBook } from './faults/fault-book.ts';
import type { Models } from './models.ts';
import type { TokenFamilies } from './oauth/token-families.ts';
import type { BilledReport, RecordedRequest, RequestFilter } from './record.ts';

/** The operations of a simulator, in process and over HTTP. */
export interface SimulatorVerbs {
  /** The newest requests, oldest first. */
  requests(filter?: RequestFilter): readonly RecordedRequest[];
  billed(): BilledReport;
  readonly faults: Pick<FaultBook, 'add' | 'clear' | 'list'>;
  readonly models: Pick<Models, 'get' | 'set'>;
  readonly oauth: Pick<TokenFamilies, 'grant' | 'revoke' | 'expire' | 'families'>;
  /** Forgets requests, bills and faults, and restores the models. Grants stay. */
  reset(): void;
}
