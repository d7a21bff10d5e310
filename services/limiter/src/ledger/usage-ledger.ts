import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { LocalDay } from '@gateway/time';
import type { LedgerTotal } from '../store/limit-store.ts';

/** Knows what a key used on a day, whatever the limit store forgot. */
export interface Ledger {
  /** Whether the ledger knows of such keys at all. Others count from zero. */
  covers(key: string): boolean;
  /** What the key used on that day, and which of these requests are in it. May fail. */
  dayTotal(key: string, day: LocalDay, requestIds: readonly string[], timeoutMs: number): Promise<LedgerTotal>;
}

/** The usage ledger. It knows the keys of the form `token:<id>`, of ids that tokens can have. */
export function usageLedger(usageQuery: Client<typeof UsageQueryService> | undefined): Ledger {
  return {
    covers: (key) => usageQuery !== undefined && /^token:[!-~]+$/.test(key),
    async dayTotal(key, localDay, requestIds, timeoutMs) {
      if (usageQuery === undefined) throw new Error('there is no ledger');
      const question = { tokenId: key.slice('token:'.length), localDay, requestIds: [...requestIds] };
      const { totalTokens, includedRequestIds } = await usageQuery.getDayTotal(question, { timeoutMs });
      return { totalTokens: Number(totalTokens), includedIds: includedRequestIds };
    },
  };
}
