import { hash } from 'node:crypto';
import type { Account } from '../accounts/account.ts';
import type { Candidate } from '../catalog/catalog.ts';
import { type AccountView, asInService, eligibilityOf } from '../health/eligibility.ts';
import { sampleSize } from './account-sampler.ts';
import type { Broker } from './broker.ts';
import type { CandidateView } from './select-account.ts';

/** Who asks, as far as it decides what they may have. Empty texts: no session, no share is counted. */
export interface Asking {
  readonly affinityKey: string;
  readonly caller: string;
}

/**
 * A candidate with what is known now of its pool, of the session's binding, of the caller's share and of the accounts: of all
 * of them, or in a large pool of a sample.
 */
export async function readCandidate(
  broker: Broker,
  candidate: Candidate,
  { affinityKey, caller }: Asking,
  which: 'all' | 'sample',
): Promise<CandidateView> {
  const { store, configuration, sampler, clock, random } = broker;
  const { settings: rules, accounts } = configuration;
  const pool = candidate.pool.name;
  const all = accounts.ofPool(pool);
  const sample = which === 'all' || all.length <= sampleSize ? undefined : sampler.ofModel(all, candidate.model);
  const drawn = sample === undefined ? all : sample.draw(affinityKey, clock.nowMs(), random);
  const [views, poolHealth, boundAccountId, callerShare] = await Promise.all([
    readAccounts(broker, drawn),
    store.readPool(pool),
    affinityKey === '' ? undefined : store.boundAccount(affinityIdOf(pool, affinityKey)),
    caller === '' ? undefined : store.shareOf({ pool, caller, ...rules }),
  ]);
  const known = { candidate, poolHealth, boundAccountId, callerShare };
  if (sample === undefined) return { ...known, accounts: views };
  const nowMs = clock.nowMs();
  views.forEach((view, at) => {
    const { obstacle } = eligibilityOf(view, candidate.model, { nowMs, rules });
    const isLimited = obstacle?.kind === 'disabled' || obstacle?.kind === 'cooling' || obstacle?.kind === 'probing';
    sample.note(drawn[at] ?? view.account, isLimited, nowMs);
  });
  const bound = all.filter((account) => account.id === boundAccountId && !drawn.includes(account));
  const seen = bound.length === 0 ? views : [...views, ...(await readAccounts(broker, bound))];
  if (drawn.length === sample.serving.length) return { ...known, accounts: seen };
  return { ...known, accounts: seen, sampled: { usableShare: sample.usableShare } };
}

/** Accounts with their health and requests in flight. */
export async function readAccounts(
  { store, configuration, clock }: Broker,
  accounts: readonly Account[],
): Promise<readonly AccountView[]> {
  const accountIds = accounts.map(({ id }) => id);
  const records = await store.readAccounts(accountIds, configuration.settings.leaseTtlMs);
  const nowMs = clock.nowMs();
  return records.flatMap(({ health, inFlight }, at) => {
    const account = accounts[at];
    return account === undefined ? [] : [{ account: asInService(account, health, nowMs), health, inFlight }];
  });
}

/** Names a session in a pool without revealing it. Each pool binds a session to an account of its own. */
export function affinityIdOf(pool: string, affinityKey: string): string {
  return hash('sha256', `${pool}\n${affinityKey}`, 'base64url');
}
