import { hash } from 'node:crypto';
import type { Account } from '../accounts/account.ts';
import type { Candidate } from '../catalog/catalog.ts';
import { asInService, availabilityOf } from '../health/availability.ts';
import { type ModelAccounts, sampleSize } from './account-sampler.ts';
import type { Broker } from './broker.ts';
import type { AccountView, CandidateView } from './select-account.ts';

/** Who asks, as far as it decides what they may have. Empty texts: no session, no share is counted. */
export interface Asking {
  readonly affinityKey: string;
  readonly caller: string;
}

/**
 * The candidates with what is known now of their pools, of the session's bindings, of the caller's shares and of the accounts:
 * of all of them, or in a large pool of a sample.
 */
export function readCandidates(
  broker: Broker,
  candidates: readonly Candidate[],
  asking: Asking,
  which: 'all' | 'sample',
): Promise<readonly CandidateView[]> {
  return Promise.all(candidates.map((candidate) => readCandidate(broker, candidate, asking, which)));
}

async function readCandidate(
  broker: Broker,
  candidate: Candidate,
  { affinityKey, caller }: Asking,
  which: 'all' | 'sample',
): Promise<CandidateView> {
  const { store, configuration, sampler, clock, random } = broker;
  const { leaseTtlMs, callerMemoryMs } = configuration.settings;
  const pool = candidate.pool.name;
  const all = configuration.roster.ofPool(pool);
  const model = which === 'all' || all.length <= sampleSize ? undefined : sampler.ofModel(all, candidate.model);
  const drawn = model === undefined ? all : model.draw(affinityKey, clock.nowMs(), random);
  const [views, poolHealth, boundAccountId, callerShare] = await Promise.all([
    readAccounts(broker, drawn),
    store.readPool(pool),
    affinityKey === '' ? undefined : store.boundAccount(affinityIdOf(pool, affinityKey)),
    caller === '' ? undefined : store.shareOf({ pool, caller, leaseTtlMs, callerMemoryMs }),
  ]);
  const known = { candidate, poolHealth, boundAccountId, callerShare };
  if (model === undefined) return { ...known, accounts: views };
  noteLimited(model, drawn, views, { model: candidate.model, nowMs: clock.nowMs() });
  const bound = all.filter((account) => account.id === boundAccountId && !drawn.includes(account));
  const accounts = bound.length === 0 ? views : [...views, ...(await readAccounts(broker, bound))];
  const isWhole = drawn.length === model.serving.length;
  return isWhole ? { ...known, accounts } : { ...known, accounts, sampled: { usableShare: model.usableShare } };
}

function noteLimited(
  accounts: ModelAccounts,
  drawn: readonly Account[],
  views: readonly AccountView[],
  { model, nowMs }: { readonly model: string; readonly nowMs: number },
): void {
  views.forEach(({ account: { state }, health }, at) => {
    const { kind } = availabilityOf(health, model, nowMs);
    const account = drawn[at];
    const isLimited = state === 'disabled' || kind === 'cooling' || kind === 'probing';
    if (account !== undefined) accounts.note(account, isLimited, nowMs);
  });
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
