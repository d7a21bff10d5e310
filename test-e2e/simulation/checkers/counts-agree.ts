import type { Checker, Evidence, LedgerRow } from './evidence.ts';

export const countsAgree: Checker = {
  promise: 'ledger, daily sums, counters and the providers’ own counts agree after quiet',
  check({ requests, rows, attempts, localDay, dailyTokens, counterTokens }: Evidence) {
    const byId = new Map(rows.map((row) => [row.requestId, row]));
    const wrong = requests.flatMap(({ view, kind, requestId = '', marker }) => {
      const row = byId.get(requestId);
      const attempt = attempts.get(marker)?.at(-1);
      if (view !== 'whole' || kind.shape === 'token_count' || row === undefined || attempt === undefined) return [];
      if (attempt.faults.includes('usage_missing')) return [];
      const { inputTokens, outputTokens } = attempt.billed;
      const isSame = row.inputTokens === inputTokens && row.outputTokens === outputTokens && !row.estimated;
      if (isSame) return [];
      const said = `${row.inputTokens} + ${row.outputTokens}${row.estimated ? ' estimated' : ''}`;
      return [`${marker}: the ledger has ${said} tokens, the provider billed ${inputTokens} + ${outputTokens}`];
    });
    const today = rows.filter((row) => row.localDay === localDay);
    const differing = [
      ...differences(sumsOf(rows), 'daily sums', dailyTokens),
      ...differences(sumsOf(today), 'counter', counterTokens),
    ];
    return [...wrong, ...differing];
  },
};

function sumsOf(rows: readonly LedgerRow[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { tokenId, inputTokens, outputTokens } of rows) {
    sums.set(tokenId, (sums.get(tokenId) ?? 0) + inputTokens + outputTokens);
  }
  return sums;
}

function differences(sums: ReadonlyMap<string, number>, part: string, said: ReadonlyMap<string, number>) {
  return [...said]
    .filter(([tokenId, tokens]) => (sums.get(tokenId) ?? 0) !== tokens)
    .map(([tokenId, tokens]) => `token ${tokenId}: the rows have ${sums.get(tokenId)} tokens, the ${part} ${tokens}`);
}
