import type { Check, Decision, Settlement } from '@gateway/limits';
import type { LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Clock } from '@gateway/time';
import type { EdgeRouterConfig } from '../config.ts';
import type { RequestEvents } from '../events.ts';

/** The operations that the edge needs from the limiter. */
export interface EdgeLimiter extends Partial<AsyncDisposable> {
  /** Starts background work that the first request depends on. */
  start?(): Promise<void>;
  /** Decides both limits of a request, and takes a slot when it admits it. */
  admit(check: Check): Promise<Decision>;
  /** Reads both limits. */
  peek(terms: Pick<Check, 'key' | 'limits'>): Promise<LimitStatus | undefined>;
  /**
   * Charges a finished request to the day budget. Resolves when the next request sees the charge.
   * Never rejects.
   */
  charge(settlement: Settlement): Promise<void>;
}

/** Creates an edge's limiter. Called once; the edge starts it and disposes of it. */
export type LimiterOf = (edge: {
  readonly config: Pick<EdgeRouterConfig, 'rpcTimeoutMs' | 'limiterFailureMode' | 'limiterLocalMaxMs'>;
  readonly clock: Clock;
  readonly events: RequestEvents;
}) => EdgeLimiter;

type PlainClient = Pick<Client<typeof LimiterService>, 'admit' | 'peek' | 'settle'>;

/**
 * A limiter in the edge's own process, which is always reachable: nothing is kept for an outage,
 * and no answer is abandoned.
 */
export function plainLimiter(limiter: PlainClient): LimiterOf {
  return ({ events }) => ({
    admit: (check) => limiter.admit(check),
    peek: async (terms) => (await limiter.peek(terms)).status,
    async charge({ tokens, ...settlement }) {
      try {
        await limiter.settle({ ...settlement, tokens: BigInt(tokens) });
      } catch (fault) {
        events.faulted('charge', fault, settlement.requestId);
      }
    },
  });
}
