import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Account, servesModel } from '../accounts/account.ts';
import type { Candidate } from '../catalog/catalog.ts';
import { type AccountView, asInService, eligibilityOf } from '../health/eligibility.ts';
import type { AccountRecord } from '../store/pool-store.ts';
import type { Broker } from './broker.ts';
import { type CandidateView, drawByShare } from './select-account.ts';

/** Who asks, as far as it decides what they may have. Empty texts: no session, no share is counted. */
export interface Asking {
  readonly affinityKey: string;
  readonly caller: string;
}

export async function readCandidate(
  broker: Broker,
  candidate: Candidate,
  { affinityKey, caller }: Asking,
  which: 'all' | 'sample',
): Promise<CandidateView> {
  const { store, configuration, clock, random } = broker;
  const { settings: rules, accounts } = configuration;
  const pool = candidate.pool.name;
  const all = accounts.ofPool(pool);
  const sample = which === 'all' || all.length <= sampleSize ? undefined : samplesOf(all, candidate.model);
  const drawn = sample === undefined ? all : sample.draw(affinityKey, clock.nowMs(), random);
  const affinityId = affinityKey === '' ? '' : affinityIdOf(pool, affinityKey);
  const { leaseTtlMs, callerMemoryMs } = rules;
  const accountIds = drawn.map(({ id }) => id);
  const question = { accountIds, pool, affinityId, caller, leaseTtlMs, callerMemoryMs };
  const { accounts: records, ...ofPool } = await store.readPoolView(question);
  const { boundAccountId } = ofPool;
  const views = viewsOf(drawn, records, clock.nowMs());
  const known = { candidate, ...ofPool };
  if (sample === undefined) return { ...known, accounts: views };
  const nowMs = clock.nowMs();
  views.forEach((view, at) => {
    const { skipReason } = eligibilityOf(view, { model: candidate.model }, { nowMs, rules });
    const isLimited =
      skipReason?.kind === 'disabled' || skipReason?.kind === 'cooling' || skipReason?.kind === 'probing';
    sample.note(drawn[at] ?? view.account, isLimited, nowMs);
  });
  const bound = boundAccountId === undefined ? undefined : accounts.configured.get(boundAccountId);
  const isUnseen = bound !== undefined && !drawn.includes(bound);
  const seen = isUnseen ? [...views, ...(await readAccounts(broker, [bound]))] : views;
  if (drawn.length === sample.serving.length) return { ...known, accounts: seen };
  return { ...known, accounts: seen, sampled: { usableShare: sample.usableShare } };
}

export async function readAccounts(
  { store, configuration, clock }: Broker,
  accounts: readonly Account[],
): Promise<readonly AccountView[]> {
  const accountIds = accounts.map(({ id }) => id);
  const records = await store.readAccounts(accountIds, configuration.settings.leaseTtlMs);
  return viewsOf(accounts, records, clock.nowMs());
}

function viewsOf(
  accounts: readonly Account[],
  records: readonly AccountRecord[],
  nowMs: number,
): readonly AccountView[] {
  return records.flatMap(({ health, inFlight }, at) => {
    const account = accounts[at];
    return account === undefined ? [] : [{ account: asInService(account, health, nowMs), health, inFlight }];
  });
}

/** Names a session in a pool without revealing it. Each pool binds a session to an account of its own. */
export function affinityIdOf(pool: string, affinityKey: string): string {
  return hash('sha256', `${pool}\n${affinityKey}`, 'base64url');
}

/** So many accounts are all looked at, so that the choice among them is exact. */
const sampleSize = 8;

/** `accounts`: all of a pool, as one list for as long as they stay the same. Clients may make up the names of models. */
function samplesOf(accounts: readonly Account[], model: string): ModelAccounts {
  const memoMethod = (of: string) => new ModelAccounts(accounts, of);
  return samplesOfPool.getOrInsertComputed(accounts, () => new LRUCache({ max: 100, memoMethod })).memo(model);
}

const samplesOfPool = new WeakMap<readonly Account[], LRUCache<string, ModelAccounts>>();

// This only steers where a request looks: whether an account takes it is decided by its health, and a refusal by all accounts.
/** The accounts that may serve a model, of which a request looks at a few. One that was found limited is not drawn for a second. */
class ModelAccounts {
  readonly serving: readonly Account[];
  /** When to look again at accounts that were found limited, in that order. */
  readonly #limited = new Map<Account, number>();

  constructor(accounts: readonly Account[], model: string) {
    this.serving = accounts.filter((account) => account.state === 'active' && servesModel(account, model));
  }

  get usableShare(): number {
    return 1 - this.#limited.size / this.serving.length;
  }

  /** By weight: at random, or the same ones for each request of a session. All of them if they are few. */
  draw(affinityKey: string, nowMs: number, random: () => number): readonly Account[] {
    if (this.serving.length <= sampleSize) return this.serving;
    const due = [...this.#limited].filter(([, atMs]) => atMs <= nowMs).map(([account]) => account);
    // Requests that come meanwhile need not look at them as well.
    for (const account of due) this.note(account, true, nowMs);
    const next = affinityKey === '' ? random : numbersOf(affinityKey);
    const usable = new Set<Account>();
    for (let draws = 0; draws < maxDraws && usable.size < sampleSize; draws++) {
      const account = drawByShare(this.serving, ({ weight }) => weight, next());
      if (account !== undefined && !this.#limited.has(account)) usable.add(account);
    }
    return [...due, ...(usable.size > 0 ? usable : this.#someUsable(next()))];
  }

  note(account: Account, isLimited: boolean, nowMs: number): void {
    this.#limited.delete(account);
    if (isLimited) this.#limited.set(account, nowMs + lookAgainMs);
  }

  /** Where most accounts are limited the draws may all miss the others. */
  #someUsable(place: number): readonly Account[] {
    const usable = this.serving.filter((account) => !this.#limited.has(account));
    const from = Math.floor(place * usable.length);
    return usable.slice(from, from + sampleSize);
  }
}

const lookAgainMs = 1_000;
/** As many as a digest has numbers. */
const maxDraws = 16;

/** Numbers from 0 to below 1 that are always the same for a key. */
function numbersOf(key: string): () => number {
  const digest = hash('sha512', key, 'buffer');
  let at = 0;
  return () => digest.readUInt32BE((at++ % maxDraws) * 4) / 2 ** 32;
}
