import {
  type Check,
  type Decision,
  FallbackLimits,
  type FallbackOptions,
  type Reservation,
  type Settlement,
} from '@gateway/limits';
import type { LimitStatus } from '@gateway/proto/limiter/v2/limit_pb.js';
import { RpcError } from '@gateway/rpc';
import { sleep } from '@gateway/time';
import type { RequestEvents } from '../events.ts';
import { lateCall } from '../patience.ts';
import { type CreateLimiter, type EdgeLimiter, readingOf } from './admit.ts';
import { isUnreachable, type LimiterClient, remoteLimits } from './limiter-messages.ts';

/** A limiter in another process. */
export function outageTolerant(limiter: LimiterClient): CreateLimiter {
  return ({
    config: { admissionPatienceMs: patienceMs, limiterFailureMode: failureMode, limiterLocalMaxMs: localMaxMs },
    ...edge
  }) => new OutageTolerantLimiter({ ...edge, limiter, patienceMs, failureMode, localMaxMs });
}

export interface OutageTolerantLimiterOptions extends Pick<FallbackOptions, 'failureMode' | 'localMaxMs'> {
  readonly limiter: LimiterClient;
  readonly events: Pick<RequestEvents, 'limiterAway' | 'limiterBack' | 'admittedLocally' | 'settleKept' | 'faulted'>;
  /** How long a request waits for the first limiter that can be reached. */
  readonly patienceMs: number;
}

/**
 * The edge's connection to a limiter that may be away. When its connection is lost, which a limiter
 * that is only slow never causes, or when the limiter has lost its store, this edge decides alone,
 * by its part of each limit, until the limiter answers again and has received what was admitted.
 */
export class OutageTolerantLimiter extends FallbackLimits implements EdgeLimiter {
  readonly #events: OutageTolerantLimiterOptions['events'];
  readonly #patienceMs: number;

  constructor({ limiter, events, patienceMs, ...options }: OutageTolerantLimiterOptions) {
    super({
      ...options,
      remote: remoteLimits(limiter, lateCall),
      events: {
        away: events.limiterAway,
        back: events.limiterBack,
        decidedAlone({ requestId }) {
          if (requestId !== '') events.admittedLocally();
        },
        settleKept: events.settleKept,
      },
    });
    this.#events = events;
    this.#patienceMs = patienceMs;
  }

  override async admit(check: Check): Promise<Decision> {
    try {
      return await super.admit(check);
    } catch (thrown) {
      if (!isUnreachable(thrown)) throw thrown;
      // No limiter has been reached yet. One may be starting.
      await Promise.race([this.whenBack, sleep(this.#patienceMs, { ref: false })]);
      return super.admit(check);
    }
  }

  /** Reads all limits. */
  async peek(terms: Pick<Check, 'key' | 'limits'>): Promise<LimitStatus | undefined> {
    return (await super.admit(readingOf(terms))).status;
  }

  /**
   * Also resolves when the settle must wait for the limiter: it is sent again later with the same
   * id.
   */
  override async settle(settlement: Settlement): Promise<void> {
    try {
      await super.settle(settlement);
    } catch (fault) {
      this.#events.faulted('settle', fault, settlement.requestId);
      if (fault instanceof RpcError) this.keepSettle(settlement);
    }
  }

  override async renew(running: readonly Reservation[]): Promise<void> {
    await super.renew(running).catch((fault: unknown) => this.#events.faulted('renew', fault));
  }
}
