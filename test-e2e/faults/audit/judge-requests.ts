import type { RecordedRequest } from '@gateway/simulator';
import type { LedgerRow } from '../injections/ledger-tap.ts';
import type { TappedEvent } from '../injections/usage-stream-tap.ts';
import type { ClientRequest } from '../load/clients.ts';

/**
 * The verdict on the records of a request. Attempts that were given up have rows of their own
 * beside it, which are estimates:
 * - `exact`: one row, with exactly what the provider billed;
 * - `estimated`: one row that is marked as an estimate, of an answer that was not complete;
 * - `wiped`: no row, because the stream lost it after it had accepted it;
 * - `unbilled`: no row, and no answer;
 * - `lost`: no row, although there was an answer, or a provider was at work when the edge died;
 * - `doubled`: more than one row;
 * - `wrong`: one row that differs from what the provider billed; or an estimate of a complete
 *   answer.
 */
export type Verdict = 'exact' | 'estimated' | 'wiped' | 'unbilled' | 'lost' | 'doubled' | 'wrong';

export interface JudgedRequest {
  readonly request: ClientRequest;
  /**
   * The providers' records of it, oldest first: several if an attempt failed and another was made.
   */
  readonly attempts: readonly RecordedRequest[];
  readonly rows: readonly LedgerRow[];
  /** Events of it that the stream lost. */
  readonly wiped: readonly TappedEvent[];
  readonly verdict: Verdict;
}

export interface Judgement {
  readonly requests: readonly JudgedRequest[];
  /** Rows that belong to no client's request. */
  readonly unknownRows: readonly LedgerRow[];
}

export interface Evidence {
  readonly requests: readonly ClientRequest[];
  readonly recorded: readonly RecordedRequest[];
  readonly rows: readonly LedgerRow[];
  readonly wiped: readonly TappedEvent[];
}

/** Combines what clients saw, what providers billed, and what the ledger has. */
export function judgeRequests(evidence: Evidence): Judgement {
  const attempts = attemptsByMarker(evidence.recorded);
  const rows = assign(evidence.rows, evidence.requests);
  const stored = new Set(evidence.rows.map(({ requestId }) => requestId));
  const wiped = assign(
    evidence.wiped.filter(({ requestId }) => !stored.has(requestId)),
    evidence.requests,
  );
  return {
    requests: evidence.requests.map((request) => {
      const facts = {
        request,
        attempts: attempts.get(request.marker) ?? [],
        rows: rows.byMarker.get(request.marker) ?? [],
        wiped: wiped.byMarker.get(request.marker) ?? [],
      };
      return { ...facts, verdict: judge(facts) };
    }),
    unknownRows: rows.unassigned,
  };
}

function judge({ request, attempts, rows: allRows, wiped }: Omit<JudgedRequest, 'verdict'>): Verdict {
  const rows = allRows.filter(({ outcome }) => outcome !== 'given_up');
  const [row] = rows;
  if (rows.length > 1 || allRows.length - rows.length > attempts.length) return 'doubled';
  if (request.kind.shape === 'token_count') return row === undefined ? 'unbilled' : 'wrong';
  if (row === undefined && allRows.length > 0 && request.view === 'broken') return 'estimated';
  if (row === undefined) return wiped.length > 0 ? 'wiped' : mustHaveARow(request, attempts) ? 'lost' : 'unbilled';
  if (row.estimated) return request.view === 'whole' ? 'wrong' : 'estimated';
  return isWhatWasBilled(row, attempts.at(-1)) ? 'exact' : 'wrong';
}

/**
 * There was an answer; or an edge died while a provider was at work, and its outbox has the
 * request.
 */
function mustHaveARow({ view }: ClientRequest, attempts: readonly RecordedRequest[]): boolean {
  const isBilled = attempts.some(({ billed }) => billed.inputTokens > 0);
  return view === 'whole' || view === 'cut' || view === 'left' || (view === 'broken' && isBilled);
}

function isWhatWasBilled(row: LedgerRow, attempt: RecordedRequest | undefined): boolean {
  return (
    attempt !== undefined &&
    row.model === attempt.model &&
    row.inputTokens === attempt.billed.inputTokens &&
    row.cachedTokens === attempt.billed.cachedTokens &&
    row.outputTokens === attempt.billed.outputTokens
  );
}

function attemptsByMarker(recorded: readonly RecordedRequest[]): ReadonlyMap<string, readonly RecordedRequest[]> {
  const byMarker = new Map<string, RecordedRequest[]>();
  for (const request of recorded) {
    const [marker] = /marker-[0-9a-f-]{36}/.exec(Buffer.from(request.body).toString()) ?? [];
    if (marker === undefined) continue;
    const attempts = byMarker.get(marker) ?? [];
    attempts.push(request);
    byMarker.set(marker, attempts);
  }
  return byMarker;
}

/** The clocks are those of one machine, but not read at the same moment. */
const toleranceMs = 5;

/**
 * A client sends one request at a time, so that token and time of admission identify the request.
 */
function assign<T extends { readonly tokenId: string; readonly admittedAtMs: number }>(
  items: readonly T[],
  requests: readonly ClientRequest[],
): { readonly byMarker: ReadonlyMap<string, readonly T[]>; readonly unassigned: readonly T[] } {
  const ofToken = Map.groupBy(requests, ({ tokenId }) => tokenId);
  const byMarker = new Map<string, T[]>();
  const unassigned: T[] = [];
  for (const item of items) {
    const request = ofToken
      .get(item.tokenId)
      ?.find(
        ({ startedMs, endedMs }) =>
          item.admittedAtMs >= startedMs - toleranceMs && item.admittedAtMs <= endedMs + toleranceMs,
      );
    if (request === undefined) unassigned.push(item);
    else byMarker.set(request.marker, [...(byMarker.get(request.marker) ?? []), item]);
  }
  return { byMarker, unassigned };
}
