import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { sampleAccount } from '../__fixtures__/sample-gateway.ts';
import { toAccount } from '../accounts/account.ts';
import { type Cooldown, healthy } from './account-health.ts';
import type { AccountView } from './eligibility.ts';
import { noIncidents, type PoolHealth } from './pool-health.ts';
import { pausesOf } from './pool-pauses.ts';

const nowMs = 1_000_000;

const cooldown = (rest: Partial<Cooldown>): Cooldown => {
  const base = { model: '', sinceMs: nowMs - 1, untilMs: nowMs + 9_000, givenByProvider: false, repeats: 1 } as const;
  return { ...base, reason: AttemptResult.SERVER_ERROR, ...rest };
};

function view(name: string, cooldowns: readonly Cooldown[] = [], state: 'active' | 'disabled' = 'active'): AccountView {
  const account = toAccount(sampleAccount('responses', name, { state }));
  return { account, health: { ...healthy, cooldowns }, inFlight: 0 };
}

const pausesFor = (views: readonly AccountView[], health: PoolHealth = noIncidents) =>
  pausesOf(views, new Map([['responses', health]]), nowMs);

const incident = (rest: Partial<Cooldown>): PoolHealth['incidents'][number] => {
  const pause = cooldown({ reason: AttemptResult.OVERLOADED, ...rest });
  return { cause: AttemptResult.OVERLOADED, model: pause.model, sinceMs: nowMs - 9, failures: [], pause };
};

describe('a pool', () => {
  it('is not paused while an account takes requests, or when none is in service', () => {
    expect(pausesFor([])).toEqual([]);
    expect(pausesFor([view('a'), view('b', [cooldown({})])])).toEqual([]);
    expect(pausesFor([view('a', [cooldown({})], 'disabled')])).toEqual([]);
  });

  it('is paused while all its accounts in service cool, until the first of them is back', () => {
    const later = cooldown({ untilMs: nowMs + 60_000, reason: AttemptResult.RATE_LIMITED });
    expect(pausesFor([view('a', [later]), view('b', [cooldown({})]), view('c', [], 'disabled')])).toEqual([
      { pool: 'responses', model: '', reason: AttemptResult.SERVER_ERROR, untilMs: nowMs + 9_000, wholePool: false },
    ]);
  });

  it('is still paused while one request finds out whether an account is back, and no longer when one may', () => {
    const probe = { leaseId: 'l', expiresAtMs: nowMs + 500 };
    const over = { untilMs: nowMs - 1 };
    const cooling = view('b', [cooldown({})]);
    expect(pausesFor([view('a', [cooldown({ ...over, probe })]), cooling])).toMatchObject([{ untilMs: undefined }]);
    expect(pausesFor([view('a', [cooldown(over)]), cooling])).toEqual([]);
  });

  it('is not paused by what an account lacks, or by a limit of one model', () => {
    const lack = cooldown({ model: 'm', reason: AttemptResult.MODEL_UNAVAILABLE });
    const feature = cooldown({ feature: 'x', reason: AttemptResult.FEATURE_UNAVAILABLE });
    expect(pausesFor([view('a', [lack, feature])])).toEqual([]);
  });

  it('is paused as a whole, or for a model, when its provider fails every account', () => {
    const whole = { pool: 'responses', reason: AttemptResult.OVERLOADED, untilMs: nowMs + 9_000, wholePool: true };
    const incidents = [incident({ model: 'gpt-5.5' })];
    expect(pausesFor([view('a')], { incidents })).toEqual([{ ...whole, model: 'gpt-5.5' }]);
    expect(pausesFor([view('a', [cooldown({})])], { incidents: [incident({})] })).toEqual([{ ...whole, model: '' }]);
    expect(pausesFor([view('a')], { incidents: [incident({ untilMs: nowMs - 1 })] })).toEqual([]);
  });
});
