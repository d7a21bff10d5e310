import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { sampleAccount, sampleGateway, sampleSettings } from '../__fixtures__/sample-gateway.ts';
import { toAccount } from '../accounts/account.ts';
import { healthy } from '../health/account-health.ts';
import type { AccountView } from '../health/eligibility.ts';
import { noIncidents } from '../health/pool-health.ts';
import type { CallerShare } from '../store/pool-store.ts';
import { type CandidateView, selectAccount } from './select-account.ts';

const nowMs = 1_000_000;
const [pool = expect.fail('the sample gateway has pools')] = sampleGateway.pools;

function view(name: string, inFlight: number, maxConcurrency?: number, usedFraction = 0): AccountView {
  const quota = { name: '5h', models: '', usedFraction, resetsAtMs: nowMs + 9_000, lengthSeconds: 0 };
  return {
    account: toAccount(sampleAccount('responses', name, { maxConcurrency })),
    health: { ...healthy, windows: [{ ...quota, seenAtMs: nowMs }] },
    inFlight,
  };
}

function selected(callerShare: CallerShare, accounts: readonly AccountView[], rest: Partial<CandidateView> = {}) {
  const candidate = { pool, model: 'm', defaultEffort: '' };
  const view = { candidate, accounts, poolHealth: noIncidents, boundAccountId: undefined, callerShare, ...rest };
  const request = { affinityKey: '', attempts: [], overtakenIds: [], rules: sampleSettings, nowMs, random: () => 0 };
  return selectAccount({ ...request, candidates: [view] });
}

const kept = (share: CallerShare, ...views: AccountView[]) =>
  selected(share, views)?.examinations.some(({ examined }) =>
    examined.some(({ skipReason }) => skipReason?.kind === 'share_used_up'),
  );

describe('a caller of a pool that it shares', () => {
  it('has what it wants as long as there are places', () => {
    expect(kept({ inFlight: 8, callers: 2 }, view('a', 4, 5), view('b', 4, 5))).toBe(false);
    expect(kept({ inFlight: 1_000, callers: 9 }, view('a', 500), view('b', 500))).toBe(false);
  });

  it('has no more than its part of the last places', () => {
    const full = [view('a', 5, 5), view('b', 4, 5)];
    expect(kept({ inFlight: 5, callers: 2 }, ...full)).toBe(true);
    expect(kept({ inFlight: 4, callers: 2 }, ...full)).toBe(false);
    expect(kept({ inFlight: 3, callers: 3 }, ...full)).toBe(true);
  });

  it('has no more than its part of what goes on once the quotas are nearly used up', () => {
    const scarce = [view('a', 6, undefined, 0.95), view('b', 4, undefined, 0.92)];
    expect(kept({ inFlight: 5, callers: 2 }, ...scarce)).toBe(true);
    expect(kept({ inFlight: 4, callers: 2 }, ...scarce)).toBe(false);
    expect(kept({ inFlight: 5, callers: 2 }, ...scarce, view('c', 0))).toBe(false);
  });

  it('counts an account that is limited as used up', () => {
    const cooldown = {
      model: '',
      reason: AttemptResult.RATE_LIMITED,
      sinceMs: 0,
      untilMs: nowMs + 9,
      repeats: 0,
    } as const;
    const health = { ...healthy, cooldowns: [{ ...cooldown, givenByProvider: true }] };
    const limited = { ...view('b', 0), health };
    expect(kept({ inFlight: 5, callers: 2 }, view('a', 10, undefined, 0.85), limited)).toBe(true);
  });

  it('may always have one request in flight', () => {
    expect(kept({ inFlight: 0, callers: 500 }, view('a', 10, 10, 1))).toBe(false);
  });
});

describe('a caller that is alone with a pool', () => {
  it('may use it up', () => {
    expect(kept({ inFlight: 10, callers: 1 }, view('a', 10, 10, 0.99))).toBe(false);
  });
});

describe('a caller of a pool of which a sample is known', () => {
  const share = { inFlight: 5, callers: 2 };
  const sampled = { usableShare: 1 };

  it('has what it wants where the sample shows plenty', () => {
    expect(selected(share, [view('a', 4, 5), view('b', 0, 5)], { sampled })?.kind).toBe('chosen');
    expect(selected(share, [view('a', 4)], { sampled })?.kind).toBe('chosen');
  });

  it('is decided on by all accounts where it does not', () => {
    expect(selected(share, [view('a', 4, 5), view('b', 5, 5)], { sampled })).toBeUndefined();
    expect(selected(share, [view('a', 0, undefined, 0.9)], { sampled })).toBeUndefined();
    expect(selected(share, [view('a', 0)], { sampled: { usableShare: 0.1 } })).toBeUndefined();
  });
});
