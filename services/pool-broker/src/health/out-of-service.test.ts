import { Secret } from '@gateway/config';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { sampleAccount, sampleSettings } from '../__fixtures__/sample-gateway.ts';
import { toAccount } from '../accounts/account.ts';
import { cancelled } from '../accounts/attempt.ts';
import {
  type AccountHealth,
  afterRenewal,
  healthy,
  mergeHealth,
  withCredential,
  withoutRefusals,
} from './account-health.ts';
import { applyReport } from './apply-report.ts';
import { availabilityOf, withProblemApplied } from './eligibility.ts';

const startMs = 1_000_000;
const account = toAccount(sampleAccount('responses', 'a'));

function refused(
  health: AccountHealth,
  problem: AccountProblem,
  nowMs = startMs,
  { credentialId } = account,
): AccountHealth {
  const report = { ...cancelled, result: AttemptResult.UNAUTHORIZED, problem };
  const attempt = { leaseId: 'l', model: 'm', report, leasedAtMs: nowMs, credentialId, nowMs };
  return applyReport(health, attempt, { settings: sampleSettings, random: () => 0 });
}

const dayMs = 86_400_000;
const stateOf = (health: AccountHealth, nowMs = startMs, of = account) => withProblemApplied(of, health, nowMs).state;

describe('an account that its provider takes out of service', () => {
  it.each(['CREDENTIAL_REVOKED', 'ACCOUNT_DISABLED'] as const)('is disabled, and says why: %s', (kind) => {
    const { state, note } = withProblemApplied(account, refused(healthy, AccountProblem[kind]), startMs);
    expect(state).toBe('disabled');
    expect(note).toMatch(/^The provider reports that the (?:credential was revoked|account, or its organization,)/);
  });

  it('is not asked again and again as one that was merely refused', () => {
    const health = refused(healthy, AccountProblem.ACCOUNT_DISABLED);
    expect(health.cooldowns).toEqual([]);
    expect(stateOf(health, startMs + 29 * dayMs)).toBe('disabled');
    expect(stateOf(refused(healthy, AccountProblem.UNSPECIFIED))).toBe('active');
  });

  it('is reported once, however many requests were under way', () => {
    const health = refused(healthy, AccountProblem.ACCOUNT_DISABLED);
    const again = refused(health, AccountProblem.ACCOUNT_DISABLED, startMs + 5);
    expect(again.problem).toBe(health.problem);
    expect(again.lastError).toMatchObject({ atMs: startMs + 5, inARow: 2 });
  });

  it('is used again with another credential', () => {
    const credential = { kind: 'bearer', secret: new Secret('another') } as const;
    const renewed = toAccount(sampleAccount('responses', 'a', { credential }));
    expect(stateOf(refused(healthy, AccountProblem.CREDENTIAL_REVOKED), startMs, renewed)).toBe('active');
  });

  it('is used again when an operator says so, whatever it was refused with before', () => {
    const health = withoutRefusals(
      refused(refused(healthy, AccountProblem.UNSPECIFIED), AccountProblem.ACCOUNT_DISABLED),
    );
    expect(health.cooldowns).toEqual([]);
    expect(stateOf(health)).toBe('active');
    expect(withoutRefusals(health)).toBe(health);
  });

  it('is asked once more after a month in which no person solved it', () => {
    expect(stateOf(refused(healthy, AccountProblem.ACCOUNT_DISABLED), startMs + 30 * dayMs)).toBe('active');
  });

  it('stays out of service when replicas compare what they know', () => {
    const health = refused(healthy, AccountProblem.ACCOUNT_DISABLED);
    expect(stateOf(mergeHealth(health, healthy))).toBe('disabled');
    expect(stateOf(mergeHealth(healthy, health))).toBe('disabled');
  });
});

describe('an account that pauses because its token was refused', () => {
  const paused = refused(healthy, AccountProblem.UNSPECIFIED);
  const kindAt = (health: AccountHealth, nowMs: number) => availabilityOf(health, { model: 'm' }, nowMs).kind;

  it('is asked again, by one request, as soon as it has another one', () => {
    const renewedMs = startMs + 5_000;
    expect(kindAt(paused, renewedMs)).toBe('cooling');
    const health = afterRenewal(paused, { issuedAtMs: renewedMs, nowMs: renewedMs });
    expect(kindAt(health, renewedMs)).toBe('probe_due');
  });

  it('pauses for longer when that one is refused too', () => {
    const health = afterRenewal(paused, { issuedAtMs: startMs + 5_000, nowMs: startMs + 5_000 });
    const again = refused(health, AccountProblem.UNSPECIFIED, startMs + 6_000);
    const lengthOf = ({ cooldowns: [cooldown] }: AccountHealth) => (cooldown?.untilMs ?? 0) - (cooldown?.sinceMs ?? 0);
    expect(lengthOf(again)).toBeGreaterThan(lengthOf(paused));
  });

  it('pauses on when the refused one is the newest', () => {
    expect(afterRenewal(paused, { issuedAtMs: startMs - 1, nowMs: startMs + 5_000 })).toBe(paused);
  });
});

describe('an account that pauses because its credential was refused', () => {
  const credential = { kind: 'bearer', secret: new Secret('another') } as const;
  const replaced = toAccount(sampleAccount('responses', 'a', { credential }));
  const paused = refused(healthy, AccountProblem.UNSPECIFIED);
  const lengthOf = ({ cooldowns: [cooldown] }: AccountHealth) => (cooldown?.untilMs ?? 0) - (cooldown?.sinceMs ?? 0);

  it('pauses on with the same credential, and is free of it with another one', () => {
    expect(withCredential(paused, account.credentialId)).toBe(paused);
    const free = withCredential(paused, replaced.credentialId);
    expect(free).toMatchObject({ cooldowns: [], lastError: undefined });
    expect(withCredential(free, account.credentialId)).toBe(free);
  });

  it('keeps its other pauses, and what ends with the credential in its own way', () => {
    const limit = { model: 'm', reason: AttemptResult.RATE_LIMITED, sinceMs: startMs, untilMs: startMs + 1 } as const;
    const limited = { ...paused, cooldowns: [...paused.cooldowns, { ...limit, givenByProvider: true, repeats: 0 }] };
    const both = refused(limited, AccountProblem.ACCOUNT_DISABLED);
    const free = withCredential(both, replaced.credentialId);
    expect(free.cooldowns).toMatchObject([limit]);
    expect(free.problem).toBe(both.problem);
  });

  it('pauses for the first time when another credential is refused too', () => {
    const again = refused(paused, AccountProblem.UNSPECIFIED, startMs + 1_000, replaced);
    expect(again.cooldowns).toHaveLength(1);
    expect(again.lastError).toMatchObject({ inARow: 1 });
    expect(lengthOf(again)).toBe(lengthOf(paused));
    expect(withCredential(again, replaced.credentialId)).toBe(again);
    const longer = refused(paused, AccountProblem.UNSPECIFIED, startMs + 1_000);
    expect(lengthOf(longer)).toBeGreaterThan(lengthOf(paused));
  });

  it('remembers too little of the credential to confirm a guess', () => {
    const [{ credentialMark = '' } = expect.fail('it pauses')] = paused.cooldowns;
    expect(credentialMark).toMatch(/^[\w-]{2}$/);
    const guesses = Array.from({ length: 20_000 }, (_, n) => {
      const guess = { kind: 'bearer', secret: new Secret(`guess ${n}`) } as const;
      return toAccount(sampleAccount('responses', 'a', { credential: guess })).credentialId;
    });
    expect(guesses.filter((id) => id.startsWith(credentialMark)).length).toBeGreaterThan(1);
  });
});
