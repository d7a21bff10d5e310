import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sampleAccount, sampleGateway, sampleSettings } from '../__fixtures__/sample-gateway.ts';
import { toAccount } from '../accounts/account.ts';
import { cancelled } from '../accounts/attempt.ts';
import { type AccountHealth, type Cooldown, healthy } from '../health/account-health.ts';
import type { AccountView } from '../health/eligibility.ts';
import { noIncidents } from '../health/pool-health.ts';
import { askAnyway, type CandidateView, type SelectionRequest, selectAccount } from './select-account.ts';

const { FEATURE_UNAVAILABLE, MODEL_UNAVAILABLE, RATE_LIMITED, REFUSED, SERVER_ERROR, UNAUTHORIZED } = AttemptResult;

const nowMs = 1_000_000;
const rules = sampleSettings;
const [responses, messages] = sampleGateway.pools;
if (responses === undefined || messages === undefined) throw new Error('the sample gateway has two pools');

function cooling(untilMs: number, rest: Partial<Cooldown> = {}): AccountHealth {
  const base = {
    model: '',
    reason: RATE_LIMITED,
    sinceMs: nowMs - 1,
    givenByProvider: true,
    repeats: 0,
  } as const;
  return { ...healthy, cooldowns: [{ ...base, untilMs, ...rest }] };
}

function view(
  name: string,
  rest: Partial<AccountView> = {},
  account: Parameters<typeof sampleAccount>[2] = {},
): AccountView {
  return { account: toAccount(sampleAccount('responses', name, account)), health: healthy, inFlight: 0, ...rest };
}

function candidate(accounts: readonly AccountView[], rest: Partial<CandidateView> = {}): CandidateView {
  return {
    candidate: { pool: responses ?? expect.fail(), model: 'm', defaultEffort: '' },
    accounts,
    poolHealth: noIncidents,
    boundAccountId: undefined,
    callerShare: undefined,
    ...rest,
  };
}

function select(candidates: readonly CandidateView[], rest: Partial<SelectionRequest> = {}) {
  const request = {
    candidates,
    affinityKey: '',
    attempts: [],
    overtakenIds: [],
    rules,
    nowMs,
    random: () => 0,
    ...rest,
  };
  const selection = selectAccount(request) ?? expect.fail('all accounts were looked at');
  const { examinations, ...answer } = askAnyway(selection, request);
  return answer.kind === 'chosen' ? answer.view.account.name : answer;
}

function tried(name: string, result: AttemptResult, model = 'm') {
  const report = { ...cancelled, result };
  return [{ leaseId: 'l', accountId: `responses/${name}`, pool: 'responses', model, report }];
}

describe('choosing an account', () => {
  it('takes the one with the smallest share of its capacity in use', () => {
    const big = view('big', { inFlight: 10 }, { maxConcurrency: 100 });
    const small = view('small', { inFlight: 2 }, { maxConcurrency: 4 });
    expect(select([candidate([small, big])])).toBe('big');
  });

  it('draws among equals', () => {
    const accounts = ['a', 'b', 'c'].map((name) => view(name));
    const drawn = [0, 0.4, 0.99].map((value) => select([candidate(accounts)], { random: () => value }));
    expect(drawn).toEqual(['a', 'b', 'c']);
  });

  it('keeps a session on its account, however busy that is, while it has a place', () => {
    const bound = view('bound', { inFlight: 3 }, { maxConcurrency: 4 });
    const full = view('bound', { inFlight: 4 }, { maxConcurrency: 4 });
    const boundAccountId = bound.account.id;
    expect(select([candidate([view('idle'), bound], { boundAccountId })], { affinityKey: 'k' })).toBe('bound');
    expect(select([candidate([view('idle'), full], { boundAccountId })], { affinityKey: 'k' })).toBe('idle');
  });

  it('moves a session away from an account that cools', () => {
    const bound = view('bound', { health: cooling(nowMs + 1) });
    const candidates = [candidate([bound, view('other')], { boundAccountId: bound.account.id })];
    expect(select(candidates, { affinityKey: 'k' })).toBe('other');
  });

  it('sends the requests of a new session to one account, whatever the replica', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        fc.shuffledSubarray(['a', 'b', 'c', 'd'], { minLength: 2 }),
        (key, names) => {
          const chosen = select([candidate(names.map((name) => view(name)))], { affinityKey: key });
          const later = names.toSorted().map((name) => view(name, { inFlight: name === chosen ? 2 : 0 }));
          expect(select([candidate(later)], { affinityKey: key, random: () => 0.7 })).toBe(chosen);
        },
      ),
    );
  });

  it('moves only the sessions of an account that goes away', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (key) => {
        const accounts = ['a', 'b', 'c', 'd'].map((name) => view(name));
        const before = select([candidate(accounts)], { affinityKey: key });
        const after = select([candidate(accounts.filter(({ account }) => account.name !== 'c'))], { affinityKey: key });
        if (before !== 'c') expect(after).toBe(before);
      }),
    );
  });

  it('spreads sessions over accounts', () => {
    const accounts = ['a', 'b', 'c'].map((name) => view(name));
    const chosen = Array.from({ length: 300 }, (_, n) =>
      select([candidate(accounts)], { affinityKey: `session ${n}` }),
    );
    for (const name of ['a', 'b', 'c']) expect(chosen.filter((other) => other === name).length).toBeGreaterThan(60);
  });

  it('leaves out accounts that may not serve the model, drain or are disabled', () => {
    const others = [
      view('a', {}, { models: ['other-*'] }),
      view('b', {}, { state: 'draining' }),
      view('c', {}, { state: 'disabled' }),
    ];
    expect(select([candidate([...others, view('d', {}, { models: ['m*'] })])])).toBe('d');
    expect(select([candidate(others)])).toEqual({ kind: 'unavailable' });
  });

  it('tries an account once for a model', () => {
    expect(select([candidate([view('a'), view('b')])], { attempts: tried('a', SERVER_ERROR) })).toBe('b');
    expect(select([candidate([view('a')])], { attempts: tried('a', SERVER_ERROR) })).toEqual({
      kind: 'unavailable',
    });
    expect(select([candidate([view('a')])], { attempts: tried('a', RATE_LIMITED, 'other') })).toBe('a');
  });

  it('goes on to the next candidate when the first has nothing to spare', () => {
    const second = candidate([view('second')]);
    expect(select([candidate([view('first')]), second])).toBe('first');
    expect(select([candidate([view('first', { health: cooling(nowMs + 1) })]), second])).toBe('second');
  });
});

describe('having no account', () => {
  const limited = view('a', { health: cooling(nowMs + 9) });
  const downUntil = (untilMs: number) =>
    view('b', { health: cooling(untilMs, { reason: SERVER_ERROR, givenByProvider: false }) });

  it('is exhaustion when each account that could serve the request is limited', () => {
    const disabled = view('c', {}, { state: 'disabled' });
    const later = view('d', { health: cooling(nowMs + 20) });
    const exhausted = { kind: 'exhausted', retryAtMs: nowMs + 9 };
    expect(select([candidate([later, disabled]), candidate([limited])])).toEqual(exhausted);
    // Nor could an account that its provider refuses.
    const refused = view('e', {
      health: cooling(nowMs + 5, { reason: UNAUTHORIZED, givenByProvider: false }),
    });
    expect(select([candidate([refused, later, limited])])).toEqual(exhausted);
    const attempts = tried('f', UNAUTHORIZED);
    expect(select([candidate([view('f'), limited])], { attempts })).toEqual(exhausted);
  });

  it('is no exhaustion when others failed or are down, and ends with the earliest reset or probe', () => {
    const until = (atMs: number) => ({ kind: 'unavailable', retryAtMs: atMs });
    expect(select([candidate([downUntil(nowMs + 5)]), candidate([limited])])).toEqual(until(nowMs + 5));
    expect(select([candidate([downUntil(nowMs + 15), limited])])).toEqual(until(nowMs + 9));
    const attempts = tried('e', SERVER_ERROR);
    expect(select([candidate([limited, view('e')])], { attempts })).toEqual(until(nowMs));
    const busy = view('f', { inFlight: 1 }, { maxConcurrency: 1 });
    expect(select([candidate([busy, downUntil(nowMs + 5)])])).toEqual(until(nowMs));
  });

  it('ends with the next probe when no account is limited', () => {
    const paused = downUntil(nowMs + 5);
    expect(select([candidate([paused])])).toEqual({ kind: 'unavailable', retryAtMs: nowMs + 5 });
    const refusal = { reason: UNAUTHORIZED, givenByProvider: false, probeFromMs: nowMs + 7 } as const;
    const refused = view('r', { health: cooling(nowMs + 600_000, refusal) });
    expect(select([candidate([refused])])).toEqual({ kind: 'unavailable', retryAtMs: nowMs + 7 });
    expect(select([candidate([refused, paused])])).toEqual({ kind: 'unavailable', retryAtMs: nowMs + 5 });
    const again = tried('x', REFUSED);
    expect(select([candidate([view('x')])], { attempts: again })).toEqual({ kind: 'unavailable', retryAtMs: nowMs });
  });

  it('has no known end when no account is limited, paused or refused', () => {
    expect(select([])).toEqual({ kind: 'unavailable' });
    expect(select([candidate([view('a', {}, { state: 'disabled' })])])).toEqual({ kind: 'unavailable' });
  });

  it('counts an account that is also refused as down', () => {
    const { cooldowns } = cooling(nowMs + 9);
    const refused = cooling(nowMs + 5, { reason: UNAUTHORIZED, givenByProvider: false }).cooldowns;
    const both = view('a', { health: { ...healthy, cooldowns: [...cooldowns, ...refused] } });
    expect(select([candidate([both])])).toEqual({ kind: 'unavailable', retryAtMs: nowMs + 9 });
  });

  it('names no reset when an account is only busy: it may be free at any time', () => {
    const busy = view('a', { inFlight: 1 }, { maxConcurrency: 1 });
    const limited = view('b', { health: cooling(nowMs + 5_000_000) });
    expect(select([candidate([busy, limited])])).toEqual({ kind: 'exhausted', retryAtMs: undefined });
  });

  it('names no reset for a caller that has its share, as long as others want theirs', () => {
    const full = view('a', { inFlight: 10 }, { maxConcurrency: 10 });
    const kept = { ...candidate([full]), callerShare: { inFlight: 10, callers: 2 } };
    expect(select([kept])).toEqual({ kind: 'exhausted', retryAtMs: undefined });
  });

  it('may be over at once when a limit ended while the request was in flight', () => {
    const attempts = tried('a', RATE_LIMITED);
    expect(select([candidate([view('a')])], { attempts })).toEqual({ kind: 'exhausted', retryAtMs: nowMs });
  });
});

const anyHealth = fc
  .array(
    fc.record({
      model: fc.constantFrom('', 'm', 'other'),
      inMs: fc.integer({ min: -5_000, max: 5_000 }),
      reason: fc.constantFrom(RATE_LIMITED, UNAUTHORIZED, SERVER_ERROR),
      givenByProvider: fc.boolean(),
    }),
    { maxLength: 3 },
  )
  .map((cooldowns) =>
    cooldowns.map(({ inMs, ...rest }) => ({ ...rest, sinceMs: nowMs - 9_000, untilMs: nowMs + inMs, repeats: 1 })),
  );

const anyAccounts = fc.array(fc.record({ cooldowns: anyHealth, inFlight: fc.integer({ min: 0, max: 3 }) }), {
  maxLength: 5,
});

/**
 * What prevents requests of a cooling account, and when that ends, computed differently from the
 * code under test.
 */
function cooledUntil(cooldowns: readonly Cooldown[]) {
  const mine = cooldowns.filter(({ model, untilMs }) => model !== 'other' && untilMs > nowMs);
  const [last] = mine.toSorted((one, other) => other.untilMs - one.untilMs);
  if (last === undefined) throw new Error('It does not cool.');
  const isRefused = mine.some(({ reason }) => reason === UNAUTHORIZED);
  const isLimited = mine.every(({ reason }) => reason === RATE_LIMITED);
  const guessedMs = last.givenByProvider ? 0 : rules.limitProbeQuietMs;
  return { isRefused, isLimited, atMs: last.untilMs + (isLimited ? guessedMs : 0) };
}

describe('any state of a pool', () => {
  it('never gives an account that cools for the model, and otherwise says when that may end', () => {
    fc.assert(
      fc.property(anyAccounts, fc.string(), (accounts, affinityKey) => {
        const views = accounts.map(({ cooldowns, inFlight }, index) =>
          view(`${index}`, { health: { ...healthy, cooldowns }, inFlight }),
        );
        const boundAccountId = views[0]?.account.id;
        const chosen = select([candidate(views, { boundAccountId })], { affinityKey });
        const isCooling = ({ health }: AccountView) =>
          health.cooldowns.some(({ model, untilMs }) => model !== 'other' && untilMs > nowMs);
        const free = views.filter((account) => !isCooling(account));
        if (typeof chosen === 'string') {
          expect(free.map(({ account }) => account.name)).toContain(chosen);
          return;
        }
        expect(free).toEqual([]);
        const ends = views.map(({ health }) => cooledUntil(health.cooldowns)).filter(({ isRefused }) => !isRefused);
        const retryAtMs = Math.min(...ends.map(({ atMs }) => atMs));
        const all = views.map(({ health }) => cooledUntil(health.cooldowns).atMs);
        const none = all.length === 0 ? { kind: 'unavailable' } : { kind: 'unavailable', retryAtMs: Math.min(...all) };
        if (!ends.some(({ isLimited }) => isLimited)) expect(chosen).toEqual(none);
        else if (ends.every(({ isLimited }) => isLimited)) expect(chosen).toEqual({ kind: 'exhausted', retryAtMs });
        else expect(chosen).toEqual({ kind: 'unavailable', retryAtMs });
      }),
      { numRuns: 500 },
    );
  });
});

describe('accounts that lack what a request wants', () => {
  const lacking = (rest: Partial<Cooldown> = {}) =>
    cooling(nowMs + 600_000, { model: 'm', reason: MODEL_UNAVAILABLE, givenByProvider: false, ...rest });
  const lackingFeature = lacking({ model: '', reason: FEATURE_UNAVAILABLE, feature: 'context-1m-*' });

  it('are passed over for another, of the same candidate or the next', () => {
    const without = view('without', { health: lacking() });
    expect(select([candidate([without, view('with')])])).toBe('with');
    expect(select([candidate([without]), candidate([view('next')])])).toBe('next');
  });

  it('are asked all the same, once, when none is known to have it', () => {
    const accounts = ['a', 'b'].map((name) => view(name, { health: lacking() }));
    expect(select([candidate(accounts)])).toBe('a');
    expect(select([candidate(accounts)], { attempts: tried('a', MODEL_UNAVAILABLE) })).toEqual({
      kind: 'unavailable',
      lack: MODEL_UNAVAILABLE,
    });
  });

  it('are not what is missing while another is merely limited, or fails', () => {
    const without = view('without', { health: lacking() });
    const limited = view('limited', { health: cooling(nowMs + 5_000) });
    const failing = view('failing', {
      health: cooling(nowMs + 5_000, { reason: SERVER_ERROR, givenByProvider: false }),
    });
    expect(select([candidate([without, limited])])).toEqual({ kind: 'exhausted', retryAtMs: nowMs + 5_000 });
    expect(select([candidate([without, failing])])).toEqual({
      kind: 'unavailable',
      lack: undefined,
      retryAtMs: nowMs + 5_000,
    });
  });

  it('decide alone when the others are out of service', () => {
    const off = view('off', {}, { state: 'disabled' });
    const other = view('other', {}, { models: ['another'] });
    const attempts = tried('without', MODEL_UNAVAILABLE);
    expect(select([candidate([view('without', { health: lacking() }), off, other])], { attempts })).toEqual({
      kind: 'unavailable',
      lack: MODEL_UNAVAILABLE,
    });
  });

  it('are not asked while something else keeps them', () => {
    const refused = lacking().cooldowns.concat(cooling(nowMs + 9, { reason: UNAUTHORIZED }).cooldowns);
    expect(select([candidate([view('a', { health: { ...healthy, cooldowns: refused } })])])).toMatchObject({
      kind: 'unavailable',
    });
  });

  it('are passed over for a feature by those requests alone that ask for it', () => {
    const accounts = [view('without', { health: lackingFeature }), view('with', { inFlight: 1 })];
    expect(select([candidate(accounts)])).toBe('without');
    expect(select([candidate(accounts)], { features: ['context-1m-2025-08-07'] })).toBe('with');
    const [without = expect.fail()] = accounts;
    const attempts = tried('without', FEATURE_UNAVAILABLE);
    expect(select([candidate([without])], { features: ['context-1m-2025-08-07'], attempts })).toEqual({
      kind: 'unavailable',
      lack: FEATURE_UNAVAILABLE,
    });
  });
});
