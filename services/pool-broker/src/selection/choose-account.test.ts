import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { sampleAccount, sampleGateway, sampleSettings } from '../__fixtures__/sample-gateway.ts';
import { toAccount } from '../accounts/account.ts';
import { type Attempt, cancelled, type QuotaWindow } from '../accounts/attempt.ts';
import { type AccountHealth, type Cooldown, healthy } from '../health/account-health.ts';
import { withWindows } from '../health/apply-report.ts';
import type { AccountView } from '../health/eligibility.ts';
import { noIncidents, type PoolHealth } from '../health/pool-health.ts';
import { type CandidateView, type SelectionRequest, selectAccount } from './select-account.ts';

const nowMs = 1_000_000_000;
const hourMs = 3_600_000;
const rules = sampleSettings;
const [responses] = sampleGateway.pools;
if (responses === undefined) throw new Error('the sample gateway has pools');

function view(name: string, health: AccountHealth = healthy, inFlight = 0): AccountView {
  return { account: toAccount(sampleAccount('responses', name)), health, inFlight };
}

const knowing = (...windows: QuotaWindow[]) => withWindows(healthy, windows, nowMs);
const used = (usedFraction: number, resetInHours = 2.5): QuotaWindow => ({
  name: '5h',
  models: '',
  usedFraction,
  resetsAtMs: nowMs + resetInHours * hourMs,
  lengthSeconds: 5 * 3_600,
});

const cooling = (rest: Partial<Cooldown>): AccountHealth => {
  const base = {
    model: '',
    reason: AttemptResult.RATE_LIMITED,
    sinceMs: nowMs - 1,
    repeats: 1,
    givenByProvider: true,
  } as const;
  return { ...healthy, cooldowns: [{ ...base, untilMs: nowMs + hourMs, ...rest }] };
};
const due = cooling({ probeFromMs: nowMs });
const lastResort = cooling({ probeFromMs: nowMs, givenByProvider: false, reason: AttemptResult.UNAUTHORIZED });
const justLimited = cooling({ probeFromMs: nowMs + 1 });

function select(accounts: readonly AccountView[], rest: Partial<SelectionRequest> & Partial<CandidateView> = {}) {
  const { boundAccountId, poolHealth = noIncidents, callerShare, ...request } = rest;
  const candidate = {
    candidate: { pool: responses ?? expect.fail(), model: 'm', defaultEffort: '' },
    accounts,
    poolHealth,
    boundAccountId,
    callerShare,
  };
  const selection = selectAccount({
    candidates: [candidate],
    affinityKey: '',
    attempts: [],
    overtakenIds: [],
    rules,
    nowMs,
    random: () => 0,
    ...request,
  });
  return selection ?? expect.fail('all accounts were looked at');
}

function chosenBy(...args: Parameters<typeof select>) {
  const selection = select(...args);
  if (selection.kind !== 'chosen') return selection.kind;
  return selection.probe ? `${selection.view.account.name} as a probe` : selection.view.account.name;
}

/** How often each account is drawn. */
function sharesOf(accounts: readonly AccountView[]): Record<string, number> {
  const draws = Array.from({ length: 1_000 }, (_, n) => chosenBy(accounts, { random: () => (n + 0.5) / 1_000 }));
  return Object.fromEntries(
    accounts.map(({ account: { name } }) => [name, draws.filter((drawn) => drawn === name).length]),
  );
}

const triedBefore: readonly Attempt[] = [
  {
    leaseId: 'l',
    accountId: 'responses/elsewhere',
    pool: 'responses',
    model: 'm',
    report: { ...cancelled, result: AttemptResult.RATE_LIMITED },
  },
];

describe('errors of late', () => {
  const failing = (errorAverage: number, secondsAgo = 0) => ({
    ...healthy,
    errorAverage,
    errorsAtMs: nowMs - secondsAgo * 1_000,
  });
  const keys = Array.from({ length: 20 }, (_, n) => `session-${n}`);

  it('keep requests away that another account can take, and only those', () => {
    const bad = view('bad', failing(0.6));
    expect(sharesOf([bad, view('good', healthy, 5)])).toEqual({ bad: 0, good: 1_000 });
    expect(sharesOf([bad, view('worse', failing(0.9))])).toEqual({ bad: 500, worse: 500 });
    expect(chosenBy([bad])).toBe('bad');
    expect(chosenBy([bad, view('limited', justLimited)])).toBe('bad');
    expect(sharesOf([view('once', failing(0.6, 60)), view('good')])).toEqual({ once: 500, good: 500 });
    expect(chosenBy([bad, view('good', knowing(used(0.999)))])).toBe('good');
  });

  it('keep a session that is bound nowhere away after the first', () => {
    const once = view('once', failing(0.25));
    for (const affinityKey of keys) {
      expect(chosenBy([once, view('good')], { affinityKey })).toBe('good');
      expect(chosenBy([once, view('good')], { affinityKey, boundAccountId: once.account.id })).toBe('once');
    }
    const chosenLater = keys.map((affinityKey) =>
      chosenBy([view('once', failing(0.25, 30)), view('good')], { affinityKey }),
    );
    expect(new Set(chosenLater).size).toBe(2);
  });
});

describe('quotas', () => {
  it('send more to accounts with more to spare, and to those that would lose it sooner', () => {
    const full = view('full', knowing(used(0.75)));
    const half = view('half', knowing(used(0.5)));
    const soon = view('soon', knowing(used(0.5, 1.25)));
    expect(sharesOf([half, full])).toEqual({ half: 667, full: 333 });
    expect(sharesOf([half, soon])).toEqual({ half: 333, soon: 667 });
  });

  it('let an account with more to spare take more requests at a time', () => {
    const busy = view('busy', knowing(used(0, 2.5)), 3);
    const idle = view('idle', knowing(used(0.75)), 1);
    expect(chosenBy([busy, idle])).toBe('busy');
  });

  it('take an account last that has next to nothing left, whatever the session hashes to', () => {
    const spent = view('spent', knowing(used(0.99, 0.01)));
    const busy = view('busy', healthy, 9);
    expect(chosenBy([spent, busy])).toBe('busy');
    for (const affinityKey of ['a', 'b', 'c', 'd']) expect(chosenBy([spent, busy], { affinityKey })).toBe('busy');
    expect(chosenBy([spent])).toBe('spent');
  });

  it('do not move a session that has an account', () => {
    const spent = view('spent', knowing(used(1)));
    expect(chosenBy([view('fresh'), spent], { affinityKey: 'k', boundAccountId: spent.account.id })).toBe('spent');
  });
});

describe('an account whose far reset may have come early', () => {
  it('is asked by a request that has no account of its own', () => {
    expect(chosenBy([view('fine'), view('a', due)])).toBe('a as a probe');
    expect(chosenBy([view('fine'), view('a', justLimited)])).toBe('fine');
  });

  it('is asked by no session that would leave its account, and by no request twice', () => {
    const fine = view('fine');
    expect(chosenBy([fine, view('a', due)], { affinityKey: 'k', boundAccountId: fine.account.id })).toBe('fine');
    expect(chosenBy([fine, view('a', due)], { affinityKey: 'k', boundAccountId: 'responses/a' })).toBe('fine');
    expect(chosenBy([fine, view('a', due)], { attempts: triedBefore })).toBe('fine');
  });

  it('is asked before a request is refused', () => {
    expect(chosenBy([view('a', due)], { attempts: triedBefore })).toBe('a as a probe');
    expect(chosenBy([view('a', justLimited)], { attempts: triedBefore })).toBe('exhausted');
  });
});

describe('an account whose cooldown is a guess', () => {
  it('is asked ahead of its end only before a request is refused, and first', () => {
    expect(chosenBy([view('fine'), view('a', lastResort)])).toBe('fine');
    expect(chosenBy([view('limited', justLimited), view('a', lastResort)])).toBe('a as a probe');
    expect(chosenBy([view('b', due), view('a', lastResort)], { attempts: triedBefore })).toBe('a as a probe');
  });

  it('is not asked when it has no free place', () => {
    const account = toAccount(sampleAccount('responses', 'a', { maxConcurrency: 1 }));
    expect(chosenBy([{ account, health: lastResort, inFlight: 1 }])).toBe('unavailable');
  });
});

describe('a pool that pauses', () => {
  const pausedBy = (pause: { untilMs: number; probe?: { leaseId: string; expiresAtMs: number } }): PoolHealth => ({
    incidents: [
      {
        cause: AttemptResult.OVERLOADED,
        model: 'm',
        sinceMs: 0,
        failures: [],
        pause: {
          ...{ model: 'm', reason: AttemptResult.OVERLOADED, sinceMs: nowMs - 1, givenByProvider: false, repeats: 1 },
          ...pause,
        },
      },
    ],
  });

  it('gives no account, and is not called limited', () => {
    expect(chosenBy([view('a')], { poolHealth: pausedBy({ untilMs: nowMs + 1 }) })).toBe('unavailable');
    expect(chosenBy([view('a'), view('b', justLimited)], { poolHealth: pausedBy({ untilMs: nowMs + 1 }) })).toBe(
      'unavailable',
    );
  });

  it('gives one request an account when the pause is over', () => {
    const over = pausedBy({ untilMs: nowMs });
    expect(select([view('a')], { poolHealth: over })).toMatchObject({ kind: 'chosen', probe: false, poolProbe: true });
    const probed = pausedBy({ untilMs: nowMs, probe: { leaseId: 'p', expiresAtMs: nowMs + 1 } });
    expect(chosenBy([view('a')], { poolHealth: probed })).toBe('unavailable');
  });
});

describe('a caller that has its share', () => {
  it('finds the pool exhausted, with no time to come back at', () => {
    const account = toAccount(sampleAccount('responses', 'a', { maxConcurrency: 10 }));
    const views = [{ account, health: healthy, inFlight: 9 }];
    expect(select(views, { callerShare: { inFlight: 9, callers: 2 } })).toMatchObject({
      kind: 'exhausted',
      retryAtMs: undefined,
    });
    expect(chosenBy(views, { callerShare: { inFlight: 1, callers: 2 } })).toBe('a');
  });
});
