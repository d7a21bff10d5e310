import type { Level } from '../check.ts';
import type { Endpoint } from '../target/endpoints.ts';

/** The flags of `gateway-conformance`. */
export interface ConformanceFlags {
  readonly url?: string;
  readonly token?: string;
  readonly limitedToken?: string;
  readonly limitedRpm?: number;
  readonly model?: Partial<Readonly<Record<Endpoint, string>>>;
  readonly endpoint?: readonly Endpoint[];
  readonly level?: readonly Level[];
  readonly only?: readonly string[];
  readonly header?: Readonly<Record<string, string>>;
  readonly providerPort?: number;
  readonly secondAccount?: true;
  readonly list?: true;
  readonly output: 'table' | 'json' | 'junit';
}
