import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { PoolPause } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';

/** Why a pool takes no requests: "the provider is overloaded". */
export function pauseReason({ reason, wholePool, model }: Pick<PoolPause, 'reason' | 'wholePool' | 'model'>): string {
  const of = model === '' ? '' : ` for ${model}`;
  if (wholePool) return `the provider ${ofProvider[reason] ?? 'is failing'}${of}`;
  return `no account is available${of} (${ofAccount[reason] ?? 'cooling'})`;
}

const ofProvider: Readonly<Partial<Record<AttemptResult, string>>> = {
  [AttemptResult.OVERLOADED]: 'is overloaded',
  [AttemptResult.NETWORK_ERROR]: 'is unreachable',
};

/** Describes the account that recovers first, which is the next one that the gateway tests. */
const ofAccount: Readonly<Partial<Record<AttemptResult, string>>> = {
  [AttemptResult.RATE_LIMITED]: 'rate limited by the provider',
  [AttemptResult.UNAUTHORIZED]: 'rejected by the provider',
  [AttemptResult.SERVER_ERROR]: 'too many server errors in a row',
  [AttemptResult.TIMEOUT]: 'too many timeouts in a row',
};
