import {
  type Check,
  type Decision,
  FallbackLimits,
  type FallbackOptions,
  isAway,
  type RemoteLimits,
  type Reservation,
  type Settlement,
} from '@gateway/limits';
import { CostKind, type LimitStatus } from '@gateway/proto/limiter/v2/limit_pb.js';
import { RpcError } from '@gateway/rpc';
import { sleep } from '@gateway/time';
import type { RequestEvents } from '../events.ts';
import { lateCall } from '../patience.ts';
import type { CreateLimiter, EdgeLimiter } from './admit.ts';
import { knownTotal, type LimiterClient, limiterCalls, ownAdmission } from './limiter-messages.ts';

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
      remote: remoteLimits(limiter),
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
    const reading = { ...terms, requestId: '', costKind: CostKind.REQUEST_ONLY };
    return (await super.admit(reading)).status;
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

/** A call that is late is neither cancelled nor an outage: its answer is used when it comes. */
function remoteLimits(limiter: LimiterClient): RemoteLimits {
  const calls = limiterCalls(limiter);
  return {
    async admit(check) {
      if (check.requestId === '') return limiter.peek(check, lateCall);
      const knownTotals = (check.knownTotals ?? []).map((known) => knownTotal(known, check));
      return repeated(() => limiter.admit({ ...check, knownTotals }, lateCall));
    },
    reserve: (reservation) => repeated(() => calls.reserve(reservation, lateCall)),
    settle: (settlement) => calls.settle(settlement, lateCall),
    renew: (running) => calls.renew(running, lateCall),
    async heartbeat({ admissions, ...beat }) {
      const request = { ...beat, admissions: admissions.map(ownAdmission) };
      try {
        const { replicas, new: isNew, ...place } = await repeated(() => limiter.heartbeat(request, lateCall));
        return replicas === undefined ? undefined : { ...place, replicas, isNew };
      } catch (thrown) {
        // A limiter that answers late, or with an error, is reachable: this must not keep the edge
        // from asking it.
        if (isAway(thrown)) throw thrown;
        return undefined;
      }
    },
  };
}

/**
 * After a broken connection another limiter may have the address, so the call is repeated once. A
 * repeated admission takes no second slot.
 */
function repeated<T>(call: () => Promise<T>): Promise<T> {
  return call().catch((thrown: unknown) => {
    if (!isUnreachable(thrown)) throw thrown;
    return call();
  });
}

/** Whether no limiter can be reached. */
function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof RpcError && thrown.status === 'unavailable';
}
