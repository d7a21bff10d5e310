import { hash } from 'node:crypto';
import { isWithin } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { type Account, hasLabels, type LabelSets, servesModel } from '../accounts/account.ts';
import type { Candidate } from '../catalog/catalog.ts';
import { withCredential } from '../health/account-health.ts';
import { type AccountView, eligibilityOf, withProblemApplied } from '../health/eligibility.ts';
import type { AccountRecord } from '../store/pool-store.ts';
import type { Broker } from './broker.ts';
import { type CandidateView, drawByShare } from './select-account.ts';

/**
 * The properties of a caller that affect which accounts it may use. Empty texts: no session, or no
 * share is counted.
 */
export interface Asking {
  readonly affinityKey: string;
  readonly caller: string;
  /** Other accounts do not exist for the request. */
  readonly labelSets: LabelSets;
}

export async function readCandidate(
  broker: Broker,
  candidate: Candidate,
  { affinityKey, caller, labelSets }: Asking,
  which: 'all' | 'sample',
): Promise<CandidateView> {
  const { store, configuration, random } = broker;
  const { settings: rules, accounts } = configuration;
  const pool = candidate.pool.name;
  const all = accounts.allowedIn(pool, labelSets);
  const sample = which === 'all' || all.length <= sampleSize ? undefined : samplesOf(all, candidate.model);
  const drawn = sample === undefined ? all : sample.draw(affinityKey, store.nowMs(), random);
  const affinityId = affinityKey === '' ? '' : affinityIdOf(pool, affinityKey);
  const { leaseTtlMs, callerMemoryMs } = rules;
  const accountIds = drawn.map(({ id }) => id);
  const question = { accountIds, pool, affinityId, caller, leaseTtlMs, callerMemoryMs };
  const { accounts: records, ...ofPool } = await store.readPoolView(question);
  const { boundAccountId } = ofPool;
  const nowMs = store.nowMs();
  const views = viewsOf(drawn, records, nowMs);
  const known = { candidate, ...ofPool };
  if (sample === undefined) return { ...known, accounts: views };
  views.forEach((view, at) => {
    const { skipReason } = eligibilityOf(view, { model: candidate.model }, { nowMs, rules });
    const isLimited =
      skipReason?.kind === 'disabled' || skipReason?.kind === 'cooling' || skipReason?.kind === 'probing';
    sample.note(drawn[at] ?? view.account, isLimited, nowMs);
  });
  const bound = boundAccountId === undefined ? undefined : accounts.configured.get(boundAccountId);
  const isUnseen = bound !== undefined && hasLabels(bound, labelSets) && !drawn.includes(bound);
  const seen = isUnseen ? [...views, ...(await readAccounts(broker, [bound]))] : views;
  if (drawn.length === sample.serving.length) return { ...known, accounts: seen };
  return { ...known, accounts: seen, sampled: { usableShare: sample.usableShare } };
}

export async function readAccounts(
  { store, configuration }: Broker,
  accounts: readonly Account[],
): Promise<readonly AccountView[]> {
  const accountIds = accounts.map(({ id }) => id);
  const records = await store.readAccounts(accountIds, configuration.settings.leaseTtlMs);
  return viewsOf(accounts, records, store.nowMs());
}

function viewsOf(
  accounts: readonly Account[],
  records: readonly AccountRecord[],
  nowMs: number,
): readonly AccountView[] {
  return records.flatMap(({ health: known, inFlight }, at) => {
    const account = accounts[at];
    if (account === undefined) return [];
    const health = withCredential(known, account.credentialId);
    return [{ account: withProblemApplied(account, health, nowMs), health, inFlight }];
  });
}

/**
 * Identifies a session in a pool without revealing it. Each pool binds a session to an account of
 * its own.
 */
export function affinityIdOf(pool: string, affinityKey: string): string {
  return hash('sha256', `${pool}\n${affinityKey}`, 'base64url');
}

/** Up to this many accounts are all examined, so that the choice among them is exact. */
const sampleSize = 8;

/**
 * `accounts`: all accounts of a pool, the same array until they change. Bounded, because clients
 * may make up names of models.
 */
function samplesOf(accounts: readonly Account[], model: string): ModelAccounts {
  const memoMethod = (of: string) => new ModelAccounts(accounts, of);
  return samplesOfPool.getOrInsertComputed(accounts, () => new LRUCache({ max: 100, memoMethod })).memo(model);
}

const samplesOfPool = new WeakMap<readonly Account[], LRUCache<string, ModelAccounts>>();

/**
 * The accounts that may serve a model, of which a request examines a few. An account that was found
 * limited is not drawn for a second.
 *
 * This only determines which accounts a request examines: health decides whether an account takes
 * it, and a refusal requires all accounts to refuse.
 */
class ModelAccounts {
  readonly serving: readonly Account[];
  /** When a request last examined each limited account. */
  readonly #limited = new Map<Account, number>();

  constructor(accounts: readonly Account[], model: string) {
    this.serving = accounts.filter((account) => account.state === 'active' && servesModel(account, model));
  }

  get usableShare(): number {
    return 1 - this.#limited.size / this.serving.length;
  }

  /**
   * Draws accounts by weight: at random, or the same ones for each request of a session. Returns
   * all of them if they are few.
   */
  draw(affinityKey: string, nowMs: number, random: () => number): readonly Account[] {
    if (this.serving.length <= sampleSize) return this.serving;
    const due = [...this.#limited]
      .filter(([, examinedMs]) => !isWithin(lookAgainMs, examinedMs, nowMs))
      .map(([account]) => account);
    // Concurrent requests need not examine them as well.
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
    if (isLimited) this.#limited.set(account, nowMs);
  }

  /** Where most accounts are limited, the draws may all miss the others. */
  #someUsable(place: number): readonly Account[] {
    const usable = this.serving.filter((account) => !this.#limited.has(account));
    const from = Math.floor(place * usable.length);
    return usable.slice(from, from + sampleSize);
  }
}

const lookAgainMs = 1_000;
/** As many as a digest has numbers. */
const maxDraws = 16;

/** A sequence of numbers from 0 to below 1 that depends only on the key. */
function numbersOf(key: string): () => number {
  const digest = hash('sha512', key, 'buffer');
  let at = 0;
  return () => digest.readUInt32BE((at++ % maxDraws) * 4) / 2 ** 32;
}
