import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Check, KnownTotal, OwnAdmission, Reservation, SettledTotals, Settlement } from '@gateway/limits';
import { BudgetPeriod, type Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import type {
  KnownTotalSchema,
  LimiterService,
  OwnAdmissionSchema,
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
      return (await limiter.reserve(reservation, options)).refusal;
    },
    async settle(settlement: Settlement, options?: CallOptions): Promise<SettledTotals> {
      return totalsIn(settlement, await limiter.settle(settlement, options));
    },
    async renew(running: readonly Reservation[], options?: CallOptions): Promise<void> {
      for (let start = 0; start < running.length; start += mostInOneCall) {
        const some = running.slice(start, start + mostInOneCall);
        await limiter.renew({ running: some }, options);
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

function totalsIn({ group }: Settlement, settled: SettleResponse) {
  const { usedTokens, groupUsedTokens, groupSpentMicros, totalsUnknown } = settled;
  const totals = { usedTokens, isLoaded: !totalsUnknown };
  if (group === undefined || totalsUnknown) return totals;
  return { ...totals, groupUsedTokens, groupSpentMicros };
}
