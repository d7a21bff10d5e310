import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import {
  type Check,
  type Decision,
  FallbackLimits,
  type FallbackOptions,
  type RemoteLimits,
  type Settlement,
} from '@gateway/limits';
import { CostKind, type LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import { monotonicMs, sleep } from '@gateway/time';
import type { RequestEvents } from '../events.ts';
import type { CreateLimiter, EdgeLimiter } from './admit.ts';

type RemoteClient = Pick<Client<typeof LimiterService>, 'admit' | 'heartbeat' | 'peek' | 'settle'>;

/** A limiter in another process. */
export function outageTolerant(limiter: RemoteClient): CreateLimiter {
  return ({
    config: { rpcTimeoutMs: timeoutMs, limiterFailureMode: failureMode, limiterLocalMaxMs: localMaxMs },
    ...edge
  }) => new OutageTolerantLimiter({ ...edge, limiter, timeoutMs, failureMode, localMaxMs });
}

export interface OutageTolerantLimiterOptions extends Pick<FallbackOptions, 'clock' | 'failureMode' | 'localMaxMs'> {
  readonly limiter: RemoteClient;
  readonly events: Pick<RequestEvents, 'limiterAway' | 'limiterBack' | 'admittedLocally' | 'chargeKept' | 'faulted'>;
  /** The time limit of one call, including its repeat. */
  readonly timeoutMs: number;
}

/**
 * The edge's connection to a limiter that may be away. From the first call without an answer on,
 * this edge decides alone, by its share of each limit, until the limiter answers again and has
 * received what was admitted in the meantime.
 */
export class OutageTolerantLimiter extends FallbackLimits implements EdgeLimiter {
  readonly #events: OutageTolerantLimiterOptions['events'];
  readonly #timeoutMs: number;

  constructor({ limiter, events, timeoutMs, ...options }: OutageTolerantLimiterOptions) {
    super({
      ...options,
      remote: remoteLimits(limiter, timeoutMs),
      group: 'edge',
      leastReplicas: 1,
      maxKeys: 10_000,
      maxKept: 100_000,
      probeEveryMs: 50,
      mayForget: false,
      isOutage: (thrown) => thrown instanceof RpcError,
      events: {
        away: events.limiterAway,
        back: (awayMs) => events.limiterBack(awayMs),
        decidedAlone({ requestId }) {
          if (requestId !== '') events.admittedLocally();
        },
        settleKept: events.chargeKept,
      },
    });
    this.#events = events;
    this.#timeoutMs = timeoutMs;
  }

  /** @throws GatewayError `internal_error` while neither the limiter nor this edge may decide. */
  override async admit(check: Check): Promise<Decision> {
    try {
      return await super.admit(check);
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown;
      // No limiter has been reached yet. One may be starting, so it gets as much time as for an
      // answer.
      await Promise.race([this.whenBack, sleep(this.#timeoutMs, { ref: false })]);
      return super.admit(check).catch(failAsGateway);
    }
  }

  /** Reads both limits. @throws GatewayError like `admit`. */
  async peek(terms: Pick<Check, 'key' | 'limits'>): Promise<LimitStatus | undefined> {
    const reading = { ...terms, requestId: '', costKind: CostKind.REQUEST_ONLY };
    return (await super.admit(reading).catch(failAsGateway)).status;
  }

  /**
   * Also resolves when the charge must wait for the limiter: it is sent again later with the same
   * id.
   */
  async charge(settlement: Settlement): Promise<void> {
    await this.settle(settlement).catch((fault) => this.#events.faulted('charge', fault, settlement.requestId));
  }
}

function remoteLimits(limiter: RemoteClient, timeoutMs: number): RemoteLimits {
  return {
    async admit(check) {
      if (check.requestId === '') return limiter.peek(check, { timeoutMs });
      return repeated(timeoutMs, (options) => limiter.admit(check, options));
    },
    async settle({ key, requestId, localDay, tokens, isLate = false }) {
      const settlement = { key, requestId, localDay, tokens: BigInt(tokens), late: isLate };
      const { usedTokens } = await limiter.settle(settlement, { timeoutMs });
      return { usedTokens: Number(usedTokens), isLoaded: true };
    },
    async heartbeat({ lastAnsweredAtMs, admissions, ...beat }) {
      const lastAnsweredAt = lastAnsweredAtMs === undefined ? undefined : timestampFromMs(lastAnsweredAtMs);
      const request = { ...beat, admissions: [...admissions], lastAnsweredAt };
      try {
        const { replicas, answeredAt, ...place } = await repeated(timeoutMs, (options) =>
          limiter.heartbeat(request, options),
        );
        return replicas === undefined
          ? undefined
          : { ...place, replicas, answeredAtMs: answeredAt && timestampMs(answeredAt) };
      } catch (thrown) {
        // A limiter that answers with an error is reachable: this must not keep the edge from
        // asking it.
        if (thrown instanceof RpcError && thrown.status !== 'internal') throw thrown;
        return undefined;
      }
    },
  };
}

/**
 * After a broken connection another limiter may have the address, so the call is repeated once in
 * the remaining time. A repeated admission takes no second slot.
 */
async function repeated<T>(
  timeoutMs: number,
  call: (options: { readonly timeoutMs: number }) => Promise<T>,
): Promise<T> {
  const deadlineMs = monotonicMs() + timeoutMs;
  try {
    return await call({ timeoutMs });
  } catch (thrown) {
    const leftMs = Math.floor(deadlineMs - monotonicMs());
    if (!(thrown instanceof RpcError) || thrown.status !== 'unavailable' || leftMs < 1) throw thrown;
    return call({ timeoutMs: leftMs });
  }
}

/** Callers of the edge's limiter do not know RPC errors. */
function failAsGateway(thrown: unknown): never {
  if (!(thrown instanceof RpcError)) throw thrown;
  throw new GatewayError('internal_error', 'Limits cannot be checked at the moment. Try again later.');
}
