import { describe, expect, it } from 'vitest';
import { requestKinds } from '../../faults/load/request-kinds.ts';
import type { ClientRequest, ClientToken } from '../clients/client.ts';
import { brokenPromises } from './checkers.ts';
import type { Evidence, LedgerRow, Note } from './evidence.ts';

const startMs = Date.UTC(2026, 10, 30, 11);
const token: ClientToken = { tokenId: 'one', text: 'text one', requestsPerMinute: 2, clients: 1 };
const [chat, messages, counting] = ['chat, Messages, whole', 'messages, whole', 'count_tokens'].map((name) => {
  const kind = requestKinds.find((each) => each.name === name);
  if (kind === undefined) throw new Error(`no ${name}`);
  return kind;
}) as [ClientRequest['kind'], ClientRequest['kind'], ClientRequest['kind']];

const request = (number: number, changes: Partial<ClientRequest> = {}): ClientRequest => {
  const sentAtMs = changes.sentAtMs ?? startMs + number * 40_000;
  const id = { client: 'client', marker: `marker-${number}`, requestId: `request-${number}`, edge: 'edge-1' };
  const ended = { sentAtMs, headAtMs: sentAtMs + 10, endedAtMs: sentAtMs + 20, status: 200, view: 'whole' as const };
  return { ...id, ...ended, token, text: token.text, kind: messages, obeyed: false, ...changes };
};
const row = (number: number, changes: Partial<LedgerRow> = {}): LedgerRow => ({
  ...{ requestId: `request-${number}`, tokenId: 'one', groupId: '', localDay: '2026-11-30', model: 'claude-sonnet-5' },
  ...{ cachedTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, costMicros: null },
  ...{ inputTokens: 10, outputTokens: 5, estimated: false, outcome: 'completed', ...changes },
});
const note = (second: number, changes: Partial<Note> = {}): Note => ({
  ...{ atMs: startMs + second * 1_000, edges: 0, wasAnyAway: false, couldCompare: true },
  ...{ wereBrokersUp: true, localDay: '2026-11-30', counterTokens: new Map<string, number>(), ...changes },
});

const group = {
  ...{ groupId: 'team', requestsPerMinute: 2, concurrentRequests: 1, budgetMicros: 200_000 },
  ...{ models: ['claude-sonnet-5'], budgetChanges: [] },
};
const grouped: ClientToken = { ...token, tokenId: 'two', groupId: 'team' };
const rest = { groupId: 'team', running: 0, spentMicros: 0, reservedMicros: 0 };

/** Three requests that are answered and recorded as promised. */
const good: Evidence = {
  ...{ requests: [1, 2, 3].map((number) => request(number)), rows: [1, 2, 3].map((number) => row(number)) },
  ...{ attempts: new Map(), dailyTokens: new Map([['one', 45]]), counterTokens: new Map([['one', 45]]) },
  ...{ localDay: '2026-11-30', clocksOffByMs: 0, unreportedLeases: [], reportsGivenUp: 0, leases: new Map() },
  ...{ activeRequests: new Map(), undelivered: new Map(), settledTwice: [], redisLosses: [], mayBeLost: new Map() },
  ...{ dailyCosts: new Map(), memoryLosses: [], staleTokens: [], endedTexts: [], limitChanges: [] },
  ...{ groups: [group], groupStates: [rest] },
  fileChanges: [{ atMs: startMs, hasClaude: true }],
  troubles: [],
  ...{ sizesAtStart: new Map([['edge-1 open', 0]]), sizes: new Map([['edge-1 open', 0]]) },
  ...{ notes: Array.from({ length: 200 }, (_, second) => note(second)), lostAloneAtMs: [], uncaught: [] },
};
const brokenBy = (changes: Partial<Evidence>) => brokenPromises({ ...good, ...changes }).map(({ checker }) => checker);
const also = (...more: readonly ClientRequest[]) => ({ requests: [...good.requests, ...more] });
const failed = { status: 500, view: 'refused', code: 'internal_error' } as const;
const unavailable = { status: 503, view: 'refused', code: 'providers_unavailable' } as const;
const refused = { status: 429, view: 'refused', code: 'rate_limit_exceeded' } as const;

describe('the checkers', () => {
  it('find nothing where every promise is kept', () => {
    expect(brokenBy({})).toEqual([]);
  });

  it.each<[string, string, Partial<Evidence>]>([
    ['minuteLimit', 'three requests in a minute', { ...rowsFor(4, 5), ...also(...twoMoreIn(startMs + 121_000)) }],
    [
      'minuteLimit',
      'a request beyond a limit that was lowered long before',
      { limitChanges: [{ tokenId: 'one', requestsPerMinute: 1, askedAtMs: startMs, answeredAtMs: startMs }] },
    ],
    ['ledgerOnce', 'a request without a row', { rows: [row(1), row(2)], ...sums(30) }],
    ['ledgerOnce', 'a request with two rows', { rows: [...good.rows, row(3)], ...sums(60) }],
    ['ledgerOnce', 'a row of no request', { rows: [...good.rows, row(9)], ...sums(60) }],
    ['countsAgree', 'a counter that differs', { counterTokens: new Map([['one', 46]]) }],
    ['countsAgree', 'daily sums that differ', { dailyTokens: new Map([['one', 46]]) }],
    ['countsAgree', 'a row on another day', { rows: [row(1), row(2), row(3, { localDay: '2026-12-01' })] }],
    ['countsAgree', 'tokens that were added twice', { settledTwice: [{ requestId: 'request-1', tokens: 15 }] }],
    [
      'countsAgree',
      'a counter that is ahead for four seconds',
      { notes: [1, 2, 3, 4, 5].map((second) => note(second, { counterTokens: new Map([['one', 99]]) })) },
    ],
    ['costsAgree', 'a row with the price of the next day', costing(65)],
    ['costsAgree', 'daily sums with another cost', { ...costing(105), dailyCosts: new Map([['one', 104]]) }],
    ['costsAgree', 'rows without any cost', unpriced(50)],
    ['oneAnswer', 'an answer with a fault', also(request(4, { problem: 'two ends', kind: counting }))],
    ['oneAnswer', 'an error that nothing caught', { uncaught: ['edge-1: Error'] }],
    ['obedientClient', 'a client that is refused although it waited', also(waiting())],
    ['answered', 'a request that fails without a reason', also(request(4, failed))],
    [
      'answered',
      'a request that fails long after a fault',
      { ...also(request(4, unavailable)), ...troubledUntil(100_000) },
    ],
    ['answered', 'an answer that is cut off', { requests: [request(1), request(2), request(3, { view: 'cut' })] }],
    ['answered', 'a request that is refused although there is room', also(request(4, refused))],
    [
      'answered',
      'a request whose group has room',
      also(request(4, { ...refused, limit: 'group_requests_per_minute', token: grouped })),
    ],
    [
      'answered',
      'a request whose group runs nothing',
      also(request(4, { ...refused, limit: 'concurrency', token: grouped })),
    ],
    [
      'answered',
      'a request whose group has money left',
      also(request(4, { ...refused, limit: 'budget', token: grouped })),
    ],
    ['minuteLimit', 'a group with three requests in a minute', { ...rowsFor(4, 5), ...inGroup(5, twoTokens(121_000)) }],
    [
      'budget',
      'a group that spends more than its budget',
      inGroup(3, { groups: [{ ...group, budgetMicros: 210 }] }, { costMicros: 105 }),
    ],
    ['accessRules', 'a model that a group may not use', inGroup(3, {}, { model: 'gpt-5.5' })],
    ['placesReturn', 'a place that is still taken', { groupStates: [{ ...rest, running: 1 }] }],
    ['placesReturn', 'money that is still reserved', { groupStates: [{ ...rest, reservedMicros: 1 }] }],
    ['leasesReturn', 'a lease that did not expire', { leases: new Map([['pool/a', 1]]) }],
    ['leasesReturn', 'a lease whose end is not reported', { unreportedLeases: ['lease'] }],
    ['nothingWaits', 'a request without an end', also(unended(4))],
    ['nothingWaits', 'usage that is not delivered', { undelivered: new Map([['nats-1', 1]]) }],
    ['memoryReturns', 'a gauge that stays up', { sizes: new Map([['edge-1 open', 1]]) }],
    ['tokenChanges', 'a valid token that is refused', also(request(4, { status: 401, view: 'refused' }))],
    ['tokenChanges', 'a token that was revoked', { endedTexts: [{ text: token.text, atMs: startMs + 5_000 }] }],
    ['reloadsApply', 'a class that was removed', withChat(200, false)],
    ['reloadsApply', 'a class that is not found', withChat(404, true)],
    ['noSecrets', 'an answer with an account', also(request(4, { leaked: 'messages/a', kind: counting }))],
  ])('%s finds %s', (checker, _what, changes) => {
    expect(brokenBy(changes)).toEqual([checker]);
  });

  it('excuse a counter that is ahead while the ledger can’t be asked', () => {
    const ahead = { couldCompare: false, counterTokens: new Map([['one', 99]]) };
    expect(brokenBy({ notes: [1, 2, 3, 4, 5].map((second) => note(second, ahead)) })).toEqual([]);
  });

  it('excuse requests that fail during a fault, or soon after it', () => {
    const unanswered = also(request(4, unavailable), request(5, { ...failed, sentAtMs: startMs + 151_000 }));
    expect(brokenBy({ ...unanswered, ...troubledUntil(150_000) })).toEqual([]);
  });

  it('excuse usage that a power failure may lose', () => {
    expect(brokenBy({ rows: [row(1), row(2)], ...sums(30), mayBeLost: new Map([['request-3', 15]]) })).toEqual([]);
  });
});

function unended(number: number): ClientRequest {
  const { endedAtMs: _, view: _view, ...rest } = request(number, { kind: counting });
  return rest;
}

/** When its minute is full, and its client waited for it. */
function waiting(): ClientRequest {
  return request(4, { ...refused, obeyed: true, sentAtMs: startMs + 121_000 });
}

function troubledUntil(elapsedMs: number): Partial<Evidence> {
  return { troubles: [{ fromMs: startMs, untilMs: startMs + elapsedMs }] };
}

function sums(tokens: number): Partial<Evidence> {
  return { dailyTokens: new Map([['one', tokens]]), counterTokens: new Map([['one', tokens]]) };
}

function rowsFor(...numbers: readonly number[]): Partial<Evidence> {
  return { rows: [1, 2, 3, ...numbers].map((number) => row(number)), ...sums(15 * (3 + numbers.length)) };
}

function costing(costMicros: number): Partial<Evidence> {
  return { rows: [row(1), row(2), row(3, { costMicros })], dailyCosts: new Map([['one', costMicros]]) };
}

function unpriced(count: number): Partial<Evidence> {
  const givenUp = Array.from({ length: count }, (_, n) => row(1, { requestId: `request-1/${n}`, outcome: 'given_up' }));
  return { rows: [...good.rows, ...givenUp], ...sums(15 * (3 + count)) };
}

/** The first rows, as those of a group. */
function inGroup(count: number, more: Partial<Evidence>, changes: Partial<LedgerRow> = {}): Partial<Evidence> {
  const rows = Array.from({ length: count }, (_, index) => row(index + 1, { groupId: 'team', ...changes }));
  return { ...more, rows };
}

/** Two requests that another token sends soon after the third one. */
function twoTokens(elapsedMs: number): Partial<Evidence> {
  return also(...twoMoreIn(startMs + elapsedMs).map((each) => ({ ...each, token: grouped })));
}

function twoMoreIn(sentAtMs: number): readonly ClientRequest[] {
  return [4, 5].map((number) => request(number, { sentAtMs: sentAtMs + number }));
}

function withChat(status: number, hasClaude: boolean): Partial<Evidence> {
  const asked = request(3, {
    kind: chat,
    status,
    ...(status === 404 ? { view: 'refused', code: 'model_not_found' } : {}),
  });
  const requests = [request(1), request(2), asked];
  const rows = status === 404 ? { rows: [row(1), row(2)], ...sums(30) } : {};
  return { requests, ...rows, fileChanges: [0, 1].map((atMs) => ({ atMs: startMs + atMs, hasClaude })) };
}
