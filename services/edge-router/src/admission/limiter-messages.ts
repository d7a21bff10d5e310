import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type Check,
  isAway,
  type KnownTotal,
  type OwnAdmission,
  type RemoteLimits,
  type Settlement,
} from '@gateway/limits';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import type {
  KnownTotalSchema,
  LimiterService,
  OwnAdmissionSchema,
  SettleResponse,
} from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { type CallOptions, type Client, RpcError } from '@gateway/rpc';

/** The calls of the limiter that an edge makes. */
export type LimiterClient = Pick<
  Client<typeof LimiterService>,
  'admit' | 'heartbeat' | 'peek' | 'settle' | 'reserve' | 'renew'
>;

/**
 * A limiter behind the network, in the terms of one in this process. After a connection broke,
 * another limiter may have the address, so a call that may be repeated is repeated once.
 */
export function remoteLimits(limiter: LimiterClient, options: CallOptions = {}): RemoteLimits {
  return {
    async admit(check) {
      if (check.requestId === '') return limiter.peek(check, options);
      const knownTotals = (check.knownTotals ?? []).map((known) => knownTotal(known, check));
      return repeated(() => limiter.admit({ ...check, knownTotals }, options));
    },
    reserve: async (reservation) => (await repeated(() => limiter.reserve(reservation, options))).refusal,
    settle: async (settlement) => settledTotals(settlement, await limiter.settle(settlement, options)),
    async renew(running) {
      for (let start = 0; start < running.length; start += mostInOneCall) {
        await limiter.renew({ running: running.slice(start, start + mostInOneCall) }, options);
      }
    },
    async heartbeat({ admissions, ...beat }) {
      const request = { ...beat, admissions: admissions.map(ownAdmission) };
      try {
        const { replicas, new: isNew, ...place } = await repeated(() => limiter.heartbeat(request, options));
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

function repeated<T>(call: () => Promise<T>): Promise<T> {
  return call().catch((thrown: unknown) => {
    if (!isUnreachable(thrown)) throw thrown;
    return call();
  });
}

/** Whether no limiter can be reached. */
export function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof RpcError && thrown.status === 'unavailable';
}

function ownAdmission({ key, groupKey = '', requestId, ageMs, isReturned = false }: OwnAdmission) {
  return { key, groupKey, requestId, ageMs, returned: isReturned } satisfies MessageInitShape<
    typeof OwnAdmissionSchema
  >;
}

function knownTotal({ counter: { groupKey, span }, total }: KnownTotal, { group }: Pick<Check, 'group'>) {
  const { period = BudgetPeriod.UNSPECIFIED, firstDay } = span;
  const ofGroup = group !== undefined && groupKey === undefined;
  return { ofGroup, period, firstDay, total } satisfies MessageInitShape<typeof KnownTotalSchema>;
}

/** The most running requests that one call may renew. */
const mostInOneCall = 1_000;

function settledTotals({ group }: Settlement, settled: SettleResponse) {
  const { usedTokens, groupUsedTokens, groupSpentMicros, totalsUnknown } = settled;
  const totals = { usedTokens, isLoaded: !totalsUnknown };
  if (group === undefined || totalsUnknown) return totals;
  return { ...totals, groupUsedTokens, groupSpentMicros };
}
