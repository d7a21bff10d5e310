import { GatewayError, notNow } from '@gateway/errors';
import { RpcError } from '@gateway/rpc';
import type { RemoteLimits } from './limit-store.ts';
import type { Check } from './limited-key.ts';

export interface FallbackOptions {
  readonly remote: RemoteLimits;
  readonly events: FallbackEvents;
  /** What happens while the remote is away: decide alone, or fail. */
  readonly failureMode: 'local' | 'closed';
  /** How long this replica may decide alone in one outage; after that it fails as `closed`. */
  readonly localMaxMs: number;
}

export interface FallbackEvents {
  away(thrown: unknown): void;
  back(awayMs: number): void;
  decidedAlone(check: Check): void;
  /** A settle was kept until the remote returns. */
  settleKept(): void;
}

/**
 * Whether no limiter can be reached, or the one that was reached can't reach its store. Any other
 * failure is an answer.
 */
export function isAway(thrown: unknown): boolean {
  if (thrown instanceof RpcError) return thrown.status === 'unavailable';
  return thrown instanceof GatewayError && thrown.code === 'providers_unavailable';
}

/** The refusal of a replica that may not decide while the remote is away. That may end soon. */
export function mayNotDecide(): GatewayError {
  return notNow('Limits cannot be checked at the moment. Try again later.');
}
