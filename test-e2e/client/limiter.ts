/** What the limiter's counter of a token's day stands at. */
export interface DayCounter {
  readonly localDay: string;
  readonly usedTokens: number;
}

/** What the limiter found when it compared a counter with the ledger. */
export interface ReconciledCounter {
  readonly usedTokensBefore: number | undefined;
  readonly usedTokensAfter: number;
  /** Those of `usedTokensAfter` that the ledger does not have yet. */
  readonly pendingTokens: number;
}

/** Reads a token's day counter and changes nothing. */
export async function dayCounterOf(adminUrl: string, tokenId: string, tokensPerDay: number): Promise<DayCounter> {
  const { status } = await callLimiter<PeekAnswer>(adminUrl, 'LimiterService/Peek', {
    key: `token:${tokenId}`,
    limits: { tokensPerDay: String(tokensPerDay) },
  });
  return { localDay: status.localDay, usedTokens: tokensPerDay - Number(status.tokens.remaining ?? 0) };
}

/** Has a token's day counter compared with the ledger, and put right. */
export async function reconcileDayCounter(
  adminUrl: string,
  tokenId: string,
  localDay: string,
): Promise<ReconciledCounter> {
  const { usedTokensBefore, usedTokensAfter, pendingTokens } = await callLimiter<ReconcileAnswer>(
    adminUrl,
    'LimiterOperatorService/ReconcileDay',
    { key: `token:${tokenId}`, localDay },
  );
  return {
    usedTokensBefore: usedTokensBefore === undefined ? undefined : Number(usedTokensBefore),
    usedTokensAfter: Number(usedTokensAfter ?? 0),
    pendingTokens: Number(pendingTokens ?? 0),
  };
}

/** In the JSON of protobuf a 64-bit number is a text, and a zero is absent. */
interface PeekAnswer {
  readonly status: { readonly localDay: string; readonly tokens: { readonly remaining?: string } };
}

interface ReconcileAnswer {
  readonly usedTokensBefore?: string;
  readonly usedTokensAfter?: string;
  readonly pendingTokens?: string;
}

async function callLimiter<Answer>(adminUrl: string, method: string, body: object): Promise<Answer> {
  const response = await fetch(`${adminUrl}/gateway.limiter.v1.${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`${method} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}
