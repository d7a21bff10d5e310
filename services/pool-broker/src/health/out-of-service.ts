import type { Account } from '../accounts/account.ts';
import type { ProblemKind } from '../accounts/attempt.ts';
import { type AccountHealth, type Cooldown, causeOf, forgottenProblemAtMs } from './account-health.ts';

/** An account as it stands now: disabled, with the reason, when its provider takes nothing of its credential any more. */
export function asInService(account: Account, { problem }: AccountHealth, nowMs: number): Account {
  if (problem === undefined || problem.credentialId !== account.credentialId) return account;
  if (nowMs >= forgottenProblemAtMs(problem)) return account;
  return { ...account, state: 'disabled', note: problemTexts[problem.kind] };
}

/** The health without all that its account was refused with. The same value when there was nothing. */
export function withoutRefusals(health: AccountHealth): AccountHealth {
  const cooldowns = health.cooldowns.filter((cooldown: Cooldown) => causeOf(cooldown) !== 'refusal');
  if (cooldowns.length === health.cooldowns.length && health.problem === undefined) return health;
  return { ...health, cooldowns, problem: undefined };
}

/**
 * The health of an account that has a new access token: the pause that the one before was refused with ends, and one request
 * finds out. What was refused since then was the new one. The same value when there was nothing.
 */
export function afterRenewal(
  health: AccountHealth,
  { issuedAtMs, nowMs }: { readonly issuedAtMs: number; readonly nowMs: number },
): AccountHealth {
  const isOver = (cooldown: Cooldown) =>
    causeOf(cooldown) === 'refusal' && cooldown.sinceMs <= issuedAtMs && cooldown.untilMs > nowMs;
  if (!health.cooldowns.some(isOver)) return health;
  const cooldowns = health.cooldowns.map((cooldown) => (isOver(cooldown) ? { ...cooldown, untilMs: nowMs } : cooldown));
  return { ...health, cooldowns };
}

const problemTexts: Readonly<Record<ProblemKind, string>> = {
  credential_revoked:
    'The provider says that the credential was revoked. Give the account a new one, or enable it if that was a mistake.',
  account_disabled:
    'The provider says that the account, or its organization, is disabled. Settle it with the provider, then enable it.',
};
