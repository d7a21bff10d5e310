import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { LocalDay } from '@gateway/time';

/** A ledger that knows what a key used on a day, whatever the limit store forgot. */
export interface DayTotalSource {
  /** Whether the ledger knows of such keys at all. Others count from zero. */
  covers(key: string): boolean;
  /** Tokens of the key on that day. May fail; must end by itself some time after `timeoutMs`. */
  loadDayTotal(key: string, day: LocalDay, timeoutMs: number): Promise<number>;
}

const tokenPrefix = 'token:';

/** The usage ledger. It knows the keys of the form `token:<id>`. */
export function usageLedger(usageQuery: Client<typeof UsageQueryService>): DayTotalSource {
  return {
    covers: (key) => key.startsWith(tokenPrefix),
    async loadDayTotal(key, localDay, timeoutMs) {
      const tokenId = key.slice(tokenPrefix.length);
      const { totalTokens } = await usageQuery.getDayTotal({ tokenId, localDay }, { timeoutMs });
      return Number(totalTokens);
    },
  };
}

/** No ledger: every key counts from zero. */
export const noLedger: DayTotalSource = {
  covers: () => false,
  loadDayTotal: () => Promise.reject(new Error('there is no ledger')),
};
