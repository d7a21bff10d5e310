import { Secret } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { sampleAccount, sampleSettings } from '../__fixtures__/sample-gateway.ts';
import { toAccount } from '../accounts/account.ts';
import type { ProblemKind } from '../accounts/attempt.ts';
import { type AccountHealth, afterRenewal, healthy, mergeHealth, withoutRefusals } from './account-health.ts';
import { applyReport } from './apply-report.ts';
import { availabilityOf, withProblemApplied } from './eligibility.ts';

const startMs = 1_000_000;
const account = toAccount(sampleAccount('responses', 'a'));

function refused(health: AccountHealth, problem: ProblemKind | undefined, nowMs = startMs): AccountHealth {
  const report = { result: 'unauthorized', retryAtMs: undefined, modelScoped: false, windows: [], problem } as const;
  const attempt = { leaseId: 'l', model: 'm', report, leasedAtMs: nowMs, credentialId: account.credentialId, nowMs };
  return applyReport(health, attempt, { settings: sampleSettings, random: () => 0 });
}

const dayMs = 86_400_000;
const stateOf = (health: AccountHealth, nowMs = startMs, of = account) => withProblemApplied(of, health, nowMs).state;

describe('an account that its provider takes out of service', () => {
  it.each<ProblemKind>(['credential_revoked', 'account_disabled'])('is disabled, and says why: %s', (kind) => {
    const { state, note } = withProblemApplied(account, refused(healthy, kind), startMs);
    expect(state).toBe('disabled');
    expect(note).toMatch(/^The provider reports that the (?:credential was revoked|account, or its organization,)/);
  });

  it('is not asked again and again as one that was merely refused', () => {
    const health = refused(healthy, 'account_disabled');
    expect(health.cooldowns).toEqual([]);
    expect(stateOf(health, startMs + 29 * dayMs)).toBe('disabled');
    expect(stateOf(refused(healthy, undefined))).toBe('active');
  });

  it('is reported once, however many requests were under way', () => {
    const health = refused(healthy, 'account_disabled');
    const again = refused(health, 'account_disabled', startMs + 5);
    expect(again.problem).toBe(health.problem);
    expect(again.lastError).toMatchObject({ atMs: startMs + 5, inARow: 2 });
  });

  it('is used again with another credential', () => {
    const credential = { kind: 'bearer', secret: new Secret('another') } as const;
    const renewed = toAccount(sampleAccount('responses', 'a', { credential }));
    expect(stateOf(refused(healthy, 'credential_revoked'), startMs, renewed)).toBe('active');
  });

  it('is used again when an operator says so, whatever it was refused with before', () => {
    const health = withoutRefusals(refused(refused(healthy, undefined), 'account_disabled'));
    expect(health.cooldowns).toEqual([]);
    expect(stateOf(health)).toBe('active');
    expect(withoutRefusals(health)).toBe(health);
  });

  it('is asked once more after a month in which no person solved it', () => {
    expect(stateOf(refused(healthy, 'account_disabled'), startMs + 30 * dayMs)).toBe('active');
  });

  it('stays out of service when replicas compare what they know', () => {
    const health = refused(healthy, 'account_disabled');
    expect(stateOf(mergeHealth(health, healthy))).toBe('disabled');
    expect(stateOf(mergeHealth(healthy, health))).toBe('disabled');
  });
});

describe('an account that pauses because its token was refused', () => {
  const paused = refused(healthy, undefined);
  const kindAt = (health: AccountHealth, nowMs: number) => availabilityOf(health, { model: 'm' }, nowMs).kind;

  it('is asked again, by one request, as soon as it has another one', () => {
    const renewedMs = startMs + 5_000;
    expect(kindAt(paused, renewedMs)).toBe('cooling');
    const health = afterRenewal(paused, { issuedAtMs: renewedMs, nowMs: renewedMs });
    expect(kindAt(health, renewedMs)).toBe('probe_due');
  });

  it('pauses for longer when that one is refused too', () => {
    const health = afterRenewal(paused, { issuedAtMs: startMs + 5_000, nowMs: startMs + 5_000 });
    const again = refused(health, undefined, startMs + 6_000);
    const lengthOf = ({ cooldowns: [cooldown] }: AccountHealth) => (cooldown?.untilMs ?? 0) - (cooldown?.sinceMs ?? 0);
    expect(lengthOf(again)).toBeGreaterThan(lengthOf(paused));
  });

  it('pauses on when the refused one is the newest', () => {
    expect(afterRenewal(paused, { issuedAtMs: startMs - 1, nowMs: startMs + 5_000 })).toBe(paused);
  });
});
