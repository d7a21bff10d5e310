import { setTimeout as sleep } from 'node:timers/promises';
import { dayCounterOf, reconcileDayCounter } from '../../client/limiter.ts';
import { usageOf } from '../../client/usage.ts';
import type { FaultScene } from '../injections/injection.ts';
import type { DailyTotal, LedgerRow } from '../injections/ledger-tap.ts';
import type { LoadClient } from '../load/clients.ts';

/** The usage of one token as every part of the gateway reports it. */
export interface TokenTotals {
  readonly tokenId: string;
  /** In the order for readers; empty if all agree. */
  readonly disagreements: readonly string[];
}

/** Higher than any usage here. */
export const tokensPerDay = 1_000_000_000;

/** Asks every part about every token until all agree, or the time is over. */
export async function compareTotals(
  field: FaultScene,
  clients: readonly LoadClient[],
  timeoutMs: number,
): Promise<readonly TokenTotals[]> {
  for (const giveUpAt = Date.now() + timeoutMs; ; await sleep(500)) {
    const rows = Map.groupBy(await field.ledger.rows(), ({ tokenId }) => tokenId);
    const daily = new Map((await field.ledger.dailyTotals()).map((total) => [total.tokenId, total]));
    const isLast = Date.now() > giveUpAt;
    const totals = await Promise.all(
      clients.map(async (client) => {
        const { tokenId } = client.token;
        const ofToken = { client, rows: rows.get(tokenId) ?? [], daily: daily.get(tokenId), isLast };
        const found = await disagreementsOf(ofToken, field).catch((thrown: unknown) => [String(thrown)]);
        return { tokenId, disagreements: found };
      }),
    );
    if (isLast || totals.every(({ disagreements }) => disagreements.length === 0)) return totals;
  }
}

interface TokenInLedger {
  readonly client: LoadClient;
  readonly rows: readonly LedgerRow[];
  readonly daily: DailyTotal | undefined;
  /** Whether this is the last comparison. */
  readonly isLast: boolean;
}

async function disagreementsOf(token: TokenInLedger, field: FaultScene): Promise<readonly string[]> {
  const { client, rows, daily } = token;
  const tokens = sumOf(rows);
  const requests = rows.filter(({ outcome }) => outcome !== 'lost' && outcome !== 'given_up').length;
  const found = differences('the daily sums', { tokens, requests }, daily ?? { tokens: 0, requests: 0 });
  for (const edge of field.gateway.replicas['edge-router']) {
    const { last7Days } = await usageOf({ baseUrl: edge.publicUrl ?? '' }, client.token.text);
    const said = { tokens: last7Days.totalTokens, requests: last7Days.requests };
    found.push(...differences('GET /v1/usage', { tokens, requests }, said));
  }
  if (client.kind === 'service') found.push(...(await countersAgainst(token, field)));
  return found;
}

type Amount = Readonly<Record<'tokens' | 'requests', number>>;

function differences(part: string, rows: Amount, said: Amount): string[] {
  return (['tokens', 'requests'] as const)
    .filter((unit) => rows[unit] !== said[unit])
    .map((unit) => `${part}: ${said[unit]} ${unit}, the rows say ${rows[unit]}`);
}

/**
 * The counter of each limiter must equal the sum of the day's rows. It may be higher only by what
 * the stream has lost: a request stays pending until the ledger has it.
 */
async function countersAgainst({ client: { token }, rows, isLast }: TokenInLedger, { gateway, effects }: FaultScene) {
  const stored = new Set(rows.map(({ requestId }) => requestId));
  const wiped = [...effects.wiped.values()].filter(
    ({ requestId, tokenId }) => tokenId === token.tokenId && !stored.has(requestId),
  );
  const mayBePending = wiped.reduce((sum, event) => sum + event.tokens, 0);
  const found: string[] = [];
  for (const { grpcUrl } of gateway.replicas.limiter) {
    const { localDay, usedTokens } = await dayCounterOf(grpcUrl, token.tokenId, tokensPerDay);
    const tokens = sumOf(rows.filter((row) => row.localDay === localDay));
    if (usedTokens === tokens) continue;
    const isPossible = usedTokens > tokens && usedTokens <= tokens + mayBePending;
    // It corrects the differences that it finds. Before the last comparison that would hide a
    // difference that does not disappear by itself.
    if (!isPossible && !isLast) {
      found.push('not yet');
      continue;
    }
    const { usedTokensBefore, usedTokensAfter, pendingTokens } = await reconcileDayCounter(
      grpcUrl,
      token.tokenId,
      localDay,
    );
    if (isPossible && usedTokensBefore === tokens + pendingTokens) continue;
    found.push(
      `the counter of the limiter at ${grpcUrl}: ${usedTokens} tokens, the rows of ${localDay} say ${tokens}; ` +
        `reconciled from ${usedTokensBefore} to ${usedTokensAfter}, ${pendingTokens} of them pending`,
    );
  }
  return found;
}

function sumOf(rows: readonly LedgerRow[]): number {
  return rows.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
}
