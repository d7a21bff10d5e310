import { localDayOf } from '@gateway/time';
import { type Checker, type Evidence, type LedgerRow, mayBeLost } from './evidence.ts';

export const countsAgree: Checker = {
  promise: 'ledger, daily sums, counters and the providers’ own counts agree after quiet',
  check(evidence: Evidence) {
    const { requests, rows, attempts, localDay, dailyTokens, counterTokens } = evidence;
    const byId = new Map(rows.map((row) => [row.requestId, row]));
    const lost = requests.filter((request) => mayBeLost(evidence, request));
    const wrong = requests.flatMap((request) => {
      const { view, kind, requestId = '', marker } = request;
      if (lost.includes(request)) return [];
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
    const mayLack = lostTokens(evidence, lost);
    const differing = [
      ...differences(sumsOf(rows), 'daily sums', dailyTokens),
      ...differences(sumsOf(today), 'counter', counterTokens, mayLack),
    ];
    const twice = evidence.settledTwice.map(
      ({ requestId, tokens }) => `${requestId}: ${tokens} tokens were added twice`,
    );
    return [...wrong, ...differing, ...twice, ...onOtherDays(evidence), ...aheadOfLedger(evidence, mayLack)];
  },
};

/** Rows on another day than that of their admission. */
function onOtherDays({ requests, rows, clocksOffByMs }: Evidence): readonly string[] {
  const byId = new Map(requests.map((request) => [request.requestId, request]));
  return rows.flatMap(({ requestId, localDay }) => {
    const { sentAtMs, headAtMs = sentAtMs } = byId.get(requestId) ?? {};
    if (sentAtMs === undefined || headAtMs === undefined) return [];
    const isRight =
      localDay >= localDayOf(sentAtMs - clocksOffByMs) && localDay <= localDayOf(headAtMs + clocksOffByMs);
    return isRight ? [] : [`${requestId} of ${new Date(sentAtMs).toISOString()} is on ${localDay}`];
  });
}

/**
 * Counters that had counted more than all requests until then used, for longer than a limiter needs
 * to compare its counter with the ledger: something counted twice.
 */
function aheadOfLedger({ requests, rows, notes }: Evidence, mayLack: ReadonlyMap<string, number>): readonly string[] {
  const sentAtMs = new Map(requests.map((request) => [request.requestId, request.sentAtMs]));
  // An attempt that was given up has the id of its request, with a number.
  const used = rows.map((row) => ({ ...row, sinceMs: sentAtMs.get(row.requestId.split('/')[0]) ?? 0 }));
  const sinceMs = new Map<string, number>();
  let troubledAtMs = Number.NEGATIVE_INFINITY;
  return notes.flatMap(({ atMs, localDay, couldCompare, counterTokens }) => {
    if (!couldCompare) troubledAtMs = atMs;
    const isExact = atMs - troubledAtMs > comparedAfterTroubleMs;
    const sums = sumsOf(used.filter((row) => row.localDay === localDay && row.sinceMs <= atMs));
    return [...counterTokens].flatMap(([tokenId, tokens]) => {
      const isAhead = tokens > (sums.get(tokenId) ?? 0) + (mayLack.get(tokenId) ?? 0);
      const aheadSinceMs = isAhead ? (sinceMs.get(tokenId) ?? atMs) : atMs;
      if (isAhead) sinceMs.set(tokenId, aheadSinceMs);
      else sinceMs.delete(tokenId);
      if (!isExact || atMs - aheadSinceMs <= comparedWithinMs) return [];
      return [`token ${tokenId}: the counter had ${tokens} at ${atMs}, of ${sums.get(tokenId)}`];
    });
  });
}

/**
 * Day totals match the ledger within two seconds (docs/limiter/outages.md). Notes are a second
 * apart.
 */
const comparedWithinMs = 3_000;

/**
 * The limiter that knew of a late settle may have ended, or its question to the ledger: then the
 * next regular one follows (`LIMITER_RECONCILE_SECONDS`), after the time limit of a question.
 */
const comparedAfterTroubleMs = 16_000;

function sumsOf(rows: readonly LedgerRow[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { tokenId, inputTokens, outputTokens } of rows) {
    sums.set(tokenId, (sums.get(tokenId) ?? 0) + inputTokens + outputTokens);
  }
  return sums;
}

/** The most by which counters may differ from the ledger, which lacks what was lost. */
function lostTokens({ attempts, mayBeLost: kept }: Evidence, lost: Evidence['requests']): ReadonlyMap<string, number> {
  const most = new Map<string, number>();
  for (const { token, marker, requestId = '' } of lost) {
    const billed = (attempts.get(marker) ?? []).map(({ billed }) => billed.inputTokens + billed.outputTokens);
    // What a broken-off answer used is an estimate, beyond what the provider billed.
    const used = Math.max(
      kept.get(requestId) ?? 0,
      billed.reduce((sum, tokens) => sum + tokens, 0),
    );
    most.set(token.tokenId, (most.get(token.tokenId) ?? 0) + used);
  }
  return most;
}

function differences(
  sums: ReadonlyMap<string, number>,
  part: string,
  said: ReadonlyMap<string, number>,
  most: ReadonlyMap<string, number> = new Map(),
) {
  return [...said]
    .filter(([tokenId, tokens]) => Math.abs((sums.get(tokenId) ?? 0) - tokens) > (most.get(tokenId) ?? 0))
    .map(([tokenId, tokens]) => `token ${tokenId}: the rows have ${sums.get(tokenId)} tokens, the ${part} ${tokens}`);
}
