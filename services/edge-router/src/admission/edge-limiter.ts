import type { Check, Decision, Settlement } from '@gateway/limits';
import type { LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Clock } from '@gateway/time';
import type { EdgeRouterConfig } from '../config.ts';
import type { RequestEvents } from '../events.ts';

/** What the edge needs of the limiter. */
export interface EdgeLimiter extends Partial<AsyncDisposable> {
  /** Whatever has to be known before the first request, in the background. */
  start?(): Promise<void>;
  /** Decides both limits of a request, and takes a slot when it admits. */
  admit(check: Check): Promise<Decision>;
  /** Reads both limits. */
  peek(terms: Pick<Check, 'key' | 'limits'>): Promise<LimitStatus | undefined>;
  /**
   * Charges a finished request to the day budget. Resolves when the next request sees that. Never
   * rejects.
   */
  charge(settlement: Settlement): Promise<void>;
}

/** Makes the limiter of an edge, once. The edge starts it, and disposes of it. */
export type LimiterOf = (edge: {
  readonly config: Pick<EdgeRouterConfig, 'rpcTimeoutMs' | 'limiterFailureMode' | 'limiterLocalMaxMs'>;
  readonly clock: Clock;
  readonly events: RequestEvents;
}) => EdgeLimiter;

type PlainClient = Pick<Client<typeof LimiterService>, 'admit' | 'peek' | 'settle'>;

/**
 * A limiter in the edge's own process, which can't be away: nothing is kept for an outage, and no
 * answer is given up.
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
