import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import { type Check, type Decision, type FallbackEvents, FallbackLimits, type RemoteLimits } from '@gateway/limits';
import { CostKind, type LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import type { Clock } from '@gateway/time';
import type { RequestEvents } from '../events.ts';

export interface OutageTolerantLimiterOptions {
  readonly limiter: Pick<Client<typeof LimiterService>, 'admit' | 'heartbeat' | 'peek' | 'settle'>;
  readonly clock: Clock;
  readonly events: Pick<RequestEvents, 'limiterAway' | 'limiterBack' | 'admittedLocally' | 'faulted'>;
  /** Of one question, its repetition included. */
  readonly timeoutMs: number;
  /** What happens while the limiter is away: decide alone, or fail. */
  readonly failureMode: 'local' | 'closed';
  /** How long one outage may be bridged; then it fails as `closed`. */
  readonly localMaxMs: number;
}

export interface Charge {
  /** The limiter's key of the token. */
  readonly key: string;
  readonly requestId: string;
  /** The day on which the request was admitted. */
  readonly localDay: string;
  readonly tokens: number;
}

/**
 * The limiter as the edge asks it, which may go away. From the first question without an answer on, this edge decides alone, by its
 * share of each limit, until the limiter answers again and has what was admitted meanwhile.
 */
export class OutageTolerantLimiter implements AsyncDisposable {
  readonly #limits: FallbackLimits;
  readonly #events: OutageTolerantLimiterOptions['events'];
  readonly #timeoutMs: number;

  constructor({ limiter, clock, events, timeoutMs, failureMode, localMaxMs }: OutageTolerantLimiterOptions) {
    this.#events = events;
    this.#timeoutMs = timeoutMs;
    this.#limits = new FallbackLimits({
      remote: remoteLimits(limiter, timeoutMs),
      group: 'edge',
      clock,
      events: fallbackEvents(events),
      failureMode,
      localMaxMs,
      leastReplicas: 1,
      maxKeys: 10_000,
      maxKept: 100_000,
      probeEveryMs: 50,
      mayForget: false,
      isOutage: (thrown) => thrown instanceof RpcError,
    });
  }

  start(): void {
    void this.#limits.start();
  }

  /** @throws GatewayError `internal_error` while neither the limiter nor this edge may decide. */
  async admit(check: Check): Promise<Decision> {
    try {
      return await this.#limits.admit(check);
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown;
      // No limiter was reached yet. One may be just about to start: it is given as much time as for an answer.
      await Promise.race([this.#limits.whenBack, sleep(this.#timeoutMs, undefined, { ref: false })]);
      return this.#limits.admit(check).catch(failAsGateway);
    }
  }

  /** Reads both limits. @throws GatewayError as `admit` does. */
  async peek(terms: Pick<Check, 'key' | 'limits'>): Promise<LimitStatus | undefined> {
    const reading = { ...terms, requestId: '', costKind: CostKind.REQUEST_ONLY };
    return (await this.#limits.admit(reading).catch(failAsGateway)).status;
  }

  /**
   * Charges a finished request to the day budget. Resolves when the next request sees that, or when it has to wait for the limiter: what
   * was not taken is offered again under the same id. Never rejects.
   */
  async charge(charge: Charge): Promise<void> {
    await this.#limits.settle(charge).catch((fault) => this.#events.faulted('charge', fault, charge.requestId));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#limits[Symbol.asyncDispose]();
  }
}

function remoteLimits(limiter: OutageTolerantLimiterOptions['limiter'], timeoutMs: number): RemoteLimits {
  return {
    async admit(check) {
      if (check.requestId === '') return limiter.peek(check, { timeoutMs });
      return repeated(timeoutMs, (options) => limiter.admit(check, options));
    },
    async settle({ key, requestId, localDay, tokens }) {
      const settlement = { key, requestId, localDay, tokens: BigInt(tokens) };
      const { usedTokens } = await limiter.settle(settlement, { timeoutMs });
      return { usedTokens: Number(usedTokens), isLoaded: true };
    },
    async heartbeat(group, replicaId, admissions) {
      try {
        const request = { group, replicaId, admissions: [...admissions] };
        const { replicas, position } = await repeated(timeoutMs, (options) => limiter.heartbeat(request, options));
        return replicas === undefined ? undefined : { replicas, position };
      } catch (thrown) {
        // One that answers with an error is there: this must not keep the edge from asking it.
        if (thrown instanceof RpcError && thrown.status !== 'internal') throw thrown;
        return undefined;
      }
    },
  };
}

/**
 * When the connection broke, another limiter may be behind the address: it is asked once more, in the time that is left. A repeated
 * admission takes no second slot.
 */
async function repeated<T>(
  timeoutMs: number,
  call: (options: { readonly timeoutMs: number }) => Promise<T>,
): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  try {
    return await call({ timeoutMs });
  } catch (thrown) {
    const leftMs = Math.floor(deadlineMs - performance.now());
    if (!(thrown instanceof RpcError) || thrown.status !== 'unavailable' || leftMs < 1) throw thrown;
    return call({ timeoutMs: leftMs });
  }
}

function fallbackEvents(events: OutageTolerantLimiterOptions['events']): FallbackEvents {
  return {
    away: events.limiterAway,
    back: (awayMs) => events.limiterBack(awayMs),
    decidedAlone({ requestId }) {
      if (requestId !== '') events.admittedLocally();
    },
    settleKept: ({ requestId }, thrown) => events.faulted('charge', thrown, requestId),
  };
}

/** Callers know no RPCs. */
function failAsGateway(thrown: unknown): never {
  if (!(thrown instanceof RpcError)) throw thrown;
  throw new GatewayError('internal_error', 'Limits can not be checked at the moment.');
}
