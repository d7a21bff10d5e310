import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  Check,
  GroupedTerms,
  KnownTotal,
  OwnAdmission,
  Reservation,
  SettledTotals,
  Settlement,
} from '@gateway/limits';
import { BudgetPeriod, type Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import type {
  KnownTotalSchema,
  LimiterService,
  OwnAdmissionSchema,
  ReserveRequestSchema,
  SettleRequestSchema,
  SettleResponse,
} from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import type { CallOptions, Client } from '@gateway/rpc';

/** The calls of the limiter that an edge makes. */
export type LimiterClient = Pick<
  Client<typeof LimiterService>,
  'admit' | 'heartbeat' | 'peek' | 'settle' | 'reserve' | 'renew'
>;

/** The calls that need conversion, with the limiter's answers in the terms of `@gateway/limits`. */
export function limiterCalls(limiter: Pick<LimiterClient, 'settle' | 'reserve' | 'renew'>) {
  return {
    async reserve(reservation: Reservation, options?: CallOptions): Promise<Refusal | undefined> {
      return (await limiter.reserve(reserveRequest(reservation), options)).refusal;
    },
    async settle(settlement: Settlement, options?: CallOptions): Promise<SettledTotals> {
      return totalsIn(settlement, await limiter.settle(settleRequest(settlement), options));
    },
    async renew(running: readonly Reservation[], options?: CallOptions): Promise<void> {
      for (let start = 0; start < running.length; start += mostInOneCall) {
        const some = running.slice(start, start + mostInOneCall);
        await limiter.renew({ running: some.map(reserveRequest) }, options);
      }
    },
  };
}

export function ownAdmission({ key, groupKey = '', requestId, ageMs, isReturned = false }: OwnAdmission) {
  return { key, groupKey, requestId, ageMs, returned: isReturned } satisfies MessageInitShape<
    typeof OwnAdmissionSchema
  >;
}

export function knownTotal({ counter: { groupKey, span }, total }: KnownTotal, { group }: Pick<Check, 'group'>) {
  const { period = BudgetPeriod.UNSPECIFIED, firstDay } = span;
  const ofGroup = group !== undefined && groupKey === undefined;
  return { ofGroup, period, firstDay, total } satisfies MessageInitShape<typeof KnownTotalSchema>;
}

/** The most running requests that one call may renew. */
const mostInOneCall = 1_000;

function settleRequest(settlement: Settlement): MessageInitShape<typeof SettleRequestSchema> {
  const { key, requestId, localDay, tokens, limits, group, costMicros = 0, ended = false, isLate = false } = settlement;
  const charge = { key, requestId, localDay, tokens, late: isLate };
  // As for most requests: only the tokens of the key are counted.
  if (group === undefined && !ended && costMicros === 0) return charge;
  return {
    ...{ ...charge, costMicros, ended },
    limits,
    ...toGroup({ key, group }),
  };
}

function totalsIn({ group }: Settlement, settled: SettleResponse) {
  const { usedTokens, groupUsedTokens, groupSpentMicros, totalsUnknown } = settled;
  const totals = { usedTokens, isLoaded: !totalsUnknown };
  if (group === undefined || totalsUnknown) return totals;
  return { ...totals, groupUsedTokens, groupSpentMicros };
}

function reserveRequest(reservation: Reservation): MessageInitShape<typeof ReserveRequestSchema> {
  const { key, requestId, localDay, limits, costMicros } = reservation;
  const request = { key, requestId, localDay, costMicros };
  return { ...request, limits, ...toGroup(reservation) };
}

function toGroup({ group }: Pick<GroupedTerms, 'key' | 'group'>) {
  if (group === undefined) return {};
  return { group: { key: group.key, limits: group.limits } };
}
