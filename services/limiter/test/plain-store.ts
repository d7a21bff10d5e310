import {
  type Decision,
  daySpan,
  type LedgerTotal,
  type LimitStore,
  type OwnAdmission,
  type Settlement,
} from '@gateway/limits';
import { CostKind, LimitName, type LimitStatus, type RequestWindow } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { LocalDay } from '@gateway/time';

export interface PlainLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerDay: number | undefined;
}

export type PlainCostKind = 'request_and_tokens' | 'request_only';

export interface PlainCheck {
  readonly key: string;
  /** Undefined only reads. */
  readonly requestId: string | undefined;
  readonly limits: PlainLimits;
  readonly costKind: PlainCostKind;
  readonly hasLedger: boolean;
}

/** A limit store in the terms of tests: numbers and instants instead of messages. */
export class PlainStore<Store extends LimitStore = LimitStore> {
  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  async admit({ requestId = '', limits, costKind, ...check }: PlainCheck) {
    const { requestsPerMinute, tokensPerDay } = limits;
    return plainDecision(
      await this.store.admit({
        ...check,
        requestId,
        limits: { requestsPerMinute, tokensPerDay: tokensPerDay },
        costKind: costKind === 'request_only' ? CostKind.REQUEST_ONLY : CostKind.REQUEST_AND_TOKENS,
      }),
    );
  }

  settle(settlement: Settlement) {
    return this.store.settle(settlement);
  }

  pendingIds(key: string, day: LocalDay, pauseMs: number) {
    return this.store.pendingIds({ key, span: daySpan(day) }, pauseMs);
  }

  reloadDay(key: string, day: LocalDay, total: LedgerTotal) {
    return this.store.reload({ key, span: daySpan(day) }, total);
  }

  heartbeat(group: string, replicaId: string, lastAnsweredAtMs?: number) {
    return this.store.heartbeat({ group, replicaId, admissions: [], lastAnsweredAtMs });
  }

  async recordAdmissions(key: string, admissions: readonly Omit<OwnAdmission, 'key'>[]): Promise<void> {
    const own = admissions.map(({ requestId, ageMs, isReturned = false }) => ({ key, requestId, ageMs, isReturned }));
    await this.store.heartbeat({ group: 'recorders', replicaId: 'recorder', admissions: own });
  }
}

export function plainDecision({ status, refusal, unloaded }: Decision) {
  if (status === undefined) throw new Error('a decision without a status');
  if (unloaded !== undefined) return { kind: 'day_total_unknown' as const, localDay: status.localDay };
  if (refusal === undefined) return { kind: 'admitted' as const, status: plainStatus(status) };
  const limit = refusal.limit === LimitName.TOKENS_PER_DAY ? 'tokens_per_day' : 'requests_per_minute';
  const retryAtMs = refusal.retryAtMs;
  return { kind: 'refused' as const, status: plainStatus(status), refusal: { limit, retryAtMs } };
}

export type PlainStatus = ReturnType<typeof plainStatus>;

function plainStatus({ requests, tokens, localDay, degraded }: LimitStatus) {
  return {
    requests: requests && plainWindow(requests),
    tokens: tokens && {
      limit: tokens.limit,
      remaining: tokens.remaining,
      resetsAtMs: tokens.resetsAtMs,
    },
    localDay,
    degraded,
  };
}

function plainWindow({ limit, remaining, emptyAtMs, nextSlotAtMs, resetsAtMs }: RequestWindow) {
  return {
    limit,
    remaining,
    emptyAtMs,
    nextSlotAtMs,
    resetsAtMs,
  };
}
