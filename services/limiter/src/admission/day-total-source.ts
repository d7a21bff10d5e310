import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { LocalDay } from '@gateway/time';
import type { LedgerSnapshot } from '../store/limit-store.ts';

export interface DayTotalQuestion {
  readonly key: string;
  readonly day: LocalDay;
  /** Requests of that key and day of which it is to be known whether the total holds them. */
  readonly requestIds: readonly string[];
}

/** A ledger that knows what a key used on a day, whatever the limit store forgot. */
export interface DayTotalSource {
  /** Whether the ledger knows of such keys at all. Others count from zero. */
  covers(key: string): boolean;
  /** What the key used on that day. May fail; must end by itself some time after `timeoutMs`. */
  loadDayTotal(question: DayTotalQuestion, timeoutMs: number): Promise<LedgerSnapshot>;
}

const tokenPrefix = 'token:';
/** Ids that tokens can have. What no ledger can know must not look like a ledger that fails. */
const tokenKey = /^token:[!-~]+$/;

/** The usage ledger. It knows the keys of the form `token:<id>`. */
export function usageLedger(usageQuery: Client<typeof UsageQueryService>): DayTotalSource {
  return {
    covers: (key) => tokenKey.test(key),
    async loadDayTotal({ key, day: localDay, requestIds }, timeoutMs) {
      const question = { tokenId: key.slice(tokenPrefix.length), localDay, requestIds: [...requestIds] };
      const { totalTokens, includedRequestIds } = await usageQuery.getDayTotal(question, { timeoutMs });
      return { totalTokens: Number(totalTokens), includedIds: includedRequestIds };
    },
  };
}

/** No ledger: every key counts from zero. */
export const noLedger: DayTotalSource = {
  covers: () => false,
  loadDayTotal: () => Promise.reject(new Error('there is no ledger')),
};
