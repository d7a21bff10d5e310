import type { Check } from '../check.ts';
import type { Exchange } from '../target/gateway-client.ts';

export type Outcome =
  | { readonly kind: 'kept' }
  /** What was expected and what was there, with all that was said on the wire. */
  | { readonly kind: 'broken'; readonly found: string; readonly exchanges: readonly Exchange[] }
  | { readonly kind: 'skipped'; readonly why: string };

export interface Result {
  readonly check: Check;
  readonly outcome: Outcome;
  readonly milliseconds: number;
}
