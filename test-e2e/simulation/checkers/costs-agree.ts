import { create } from '@bufbuild/protobuf';
import { toPriceList } from '@gateway/pool-broker/rpc/catalog-messages';
import { PriceBook } from '@gateway/prices';
import { PriceListSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { simulatedPools } from '../gateway/simulated-pools.ts';
import type { Checker, Evidence, LedgerRow } from './evidence.ts';

export const costsAgree: Checker = {
  promise: 'every row of the ledger costs what its tokens cost on its day, and daily sums have the same cost',
  check({ rows, dailyCosts }: Evidence) {
    const prices = new PriceBook(create(PriceListSchema, toPriceList(simulatedPools().prices)));
    const wrong = rows.flatMap((row) => {
      const cost = prices.costOf(row.model, tokensOf(row), row.localDay);
      // An edge that has not reached the broker yet knows no prices.
      if (row.costMicros === null || row.costMicros === cost) return [];
      return [`${row.requestId} of ${row.localDay} costs ${cost}, the ledger has ${row.costMicros}`];
    });
    const sums = new Map<string, number>();
    for (const { tokenId, costMicros } of rows) sums.set(tokenId, (sums.get(tokenId) ?? 0) + (costMicros ?? 0));
    const differing = [...dailyCosts]
      .filter(([tokenId, micros]) => micros !== sums.get(tokenId))
      .map(([tokenId, micros]) => `token ${tokenId}: rows cost ${sums.get(tokenId)}, the daily sums ${micros}`);
    const isPriced = rows.length < someRows || rows.some(({ costMicros }) => costMicros !== null);
    return [...wrong, ...differing, ...(isPriced ? [] : ['no row has a cost'])];
  },
};

/** More than edges record before they have reached the broker. */
const someRows = 50;

function tokensOf(row: LedgerRow) {
  return {
    inputTokens: row.inputTokens,
    cachedTokens: row.cachedTokens,
    cacheWrite5mTokens: row.cacheWrite5mTokens,
    cacheWrite1hTokens: row.cacheWrite1hTokens,
    outputTokens: row.outputTokens,
  };
}
