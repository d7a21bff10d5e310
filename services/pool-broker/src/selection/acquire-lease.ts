import type { PoolFormat } from '@gateway/config';
import { type Attempt, isError, newLeaseId, toCallerId } from '../accounts/attempt.ts';
import type { Candidate } from '../catalog/catalog.ts';
import { endProbe, startProbe } from '../health/cooldown.ts';
import { startPoolProbe } from '../health/pool-health.ts';
import type { Broker } from './broker.ts';
import { obstacleText } from './explain-model.ts';
import { affinityIdOf, readCandidates } from './read-candidates.ts';
import { selectAccount } from './select-account.ts';
import type { CandidateView, Chosen, Examination, Selection } from './selection.ts';
import { settleAttempt } from './settle-attempt.ts';

export interface LeaseRequest {
  readonly model: string;
  /** Empty: any. */
  readonly formats: ReadonlySet<PoolFormat>;
  /** Empty: no affinity. */
  readonly affinityKey: string;
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
  readonly allowCandidateFailover: boolean;
  /** Who asks, as an opaque key. Empty: no share is counted. */
  readonly caller: string;
}

/** The right to send one request with one account. */
export interface Lease {
  readonly leaseId: string;
  readonly accountId: string;
  readonly candidate: Candidate;
}

/** `reason` and `skipped` say why it is this account, or none, for operators. `reason` is empty when `skipped` says it all. */
export type LeaseResult = { readonly reason: string; readonly skipped: ReturnType<typeof skippedGroups> } & (
  | { readonly kind: 'leased'; readonly lease: Lease }
  | { readonly kind: 'exhausted'; readonly retryAtMs: number | undefined }
  | { readonly kind: 'unavailable' }
  /** `otherFormatsOnly`: the id is known, but not for the formats that were asked for. */
  | { readonly kind: 'unknown_model'; readonly otherFormatsOnly: boolean }
);

/** Settles the request's last attempt and leases the account for the next one, or says why there is none. */
export async function acquireLease(broker: Broker, request: LeaseRequest): Promise<LeaseResult> {
  const last = request.attempts.at(-1);
  if (last === undefined) broker.configuration.retryBudget.noteRequest();
  else await settleAttempt(broker, last, request.affinityKey);
  const result = await leaseNext(broker, request);
  broker.metrics.acquires.inc({ result: result.kind });
  return result;
}

async function leaseNext(broker: Broker, request: LeaseRequest): Promise<LeaseResult> {
  const { catalog } = broker.configuration;
  const { model, formats, attempts } = request;
  const candidates = catalog.resolve(model, formats);
  if (candidates.length === 0) {
    const otherFormatsOnly = catalog.resolve(model, new Set()).length > 0;
    return { kind: 'unknown_model', otherFormatsOnly, reason: '', skipped: [] };
  }
  const allowed = request.allowCandidateFailover ? inOrder(candidates, attempts, broker) : candidates.slice(0, 1);
  return leaseOneOf(broker, allowed, request);
}

/** Chooses and takes. Ends, because a request is overtaken at an account only once and there are only so many. */
async function leaseOneOf(
  broker: Broker,
  candidates: readonly Candidate[],
  request: LeaseRequest,
): Promise<LeaseResult> {
  const caller = toCallerId(request.caller);
  const overtakenAt: string[] = [];
  for (let mayTry = false; ; ) {
    const selection = await selectOneOf(broker, candidates, { ...request, caller, overtakenAt });
    const reason = selection.kind === 'chosen' ? selection.reason : '';
    const choice = { reason, skipped: skippedGroups(selection.examinations) };
    if (selection.kind === 'exhausted') return { kind: 'exhausted', retryAtMs: selection.retryAtMs, ...choice };
    if (selection.kind !== 'chosen') return { kind: 'unavailable', ...choice };
    mayTry ||= takesItsTry(broker, request.attempts);
    if (!mayTry) return { kind: 'unavailable', ...choice, reason: spent };
    const lease = await takeLease(broker, selection, caller);
    if (lease !== undefined) {
      await dropStaleBinding(broker, selection, request.affinityKey);
      return { kind: 'leased', lease, ...choice };
    }
    overtakenAt.push(selection.view.account.id);
  }
}

const spent =
  'it had spent what requests may spend after errors: its own attempts, or the budget for the retries of all';

/** The accounts that were looked at and could not take the request, counted by candidate and reason. */
function skippedGroups(examinations: readonly Examination[]) {
  return examinations.flatMap(({ candidate: { candidate }, examined }) => {
    const obstacles = examined.flatMap(({ fitness }) => (fitness.kind === 'fit' ? [] : [fitness.obstacle]));
    const groups = Map.groupBy(obstacles, (obstacle) => obstacleText(obstacle, 'without times'));
    const { pool, model } = candidate;
    return [...groups].map(([reason, { length: count }]) => ({ pool: pool.name, model, reason, count }));
  });
}

type Asking = Pick<LeaseRequest, 'affinityKey' | 'attempts' | 'caller'> & { readonly overtakenAt: readonly string[] };

/** By a sample of the accounts where that decides, else by all of them. */
async function selectOneOf(broker: Broker, candidates: readonly Candidate[], asking: Asking): Promise<Selection> {
  const { affinityKey, attempts, overtakenAt } = asking;
  const selectOf = (views: readonly CandidateView[]) =>
    selectAccount({
      ...{ candidates: views, affinityKey, attempts, overtakenAt, random: broker.random },
      ...{ rules: broker.configuration.settings, nowMs: broker.clock.nowMs() },
    });
  const selection = selectOf(await readCandidates(broker, candidates, asking, 'sample'));
  if (selection.kind !== 'undecided') return selection;
  return selectOf(await readCandidates(broker, candidates, asking, 'all'));
}

/**
 * Candidates in the order in which they are preferred. The last attempt that errors leave a request is for one that has not
 * failed it yet: what is wrong with all accounts of one provider must not keep it from another.
 */
function inOrder(
  candidates: readonly Candidate[],
  attempts: readonly Attempt[],
  { configuration: { settings } }: Broker,
): readonly Candidate[] {
  const errors = attempts.filter(({ outcome }) => isError(outcome.result));
  if (errors.length < settings.maxErrorAttempts - 1) return candidates;
  const failedIt = ({ pool, model }: Candidate) =>
    errors.some((error) => error.pool === pool.name && error.model === model);
  return [...candidates.filter((each) => !failedIt(each)), ...candidates.filter(failedIt)];
}

/**
 * False when errors have used up what a request may spend; else a retry is spent, where it is one. Asked only when there is a
 * usable account, so that a request whose other accounts are all limited gets that answer.
 */
function takesItsTry({ configuration, metrics }: Broker, attempts: readonly Attempt[]): boolean {
  const errors = attempts.filter(({ outcome }) => isError(outcome.result));
  if (errors.length >= configuration.settings.maxErrorAttempts) {
    metrics.retriesRefused.inc({ reason: 'attempts' });
    return false;
  }
  const followsError = errors.length > 0 && errors.at(-1) === attempts.at(-1);
  if (!followsError || configuration.retryBudget.takeRetry()) return true;
  metrics.retriesRefused.inc({ reason: 'budget' });
  return false;
}

/** Undefined when another request took the account's last place, or its probe, since we looked. */
async function takeLease(broker: Broker, chosen: Chosen, caller: string): Promise<Lease | undefined> {
  const { store, configuration } = broker;
  const { candidate } = chosen.candidate;
  const { id: accountId, maxConcurrency } = chosen.view.account;
  const leaseId = newLeaseId(caller);
  const request = { pool: candidate.pool.name, model: candidate.model, caller, leaseId };
  const { leaseTtlMs } = configuration.settings;
  if (!(await store.takeLease({ ...request, accountId, maxConcurrency, leaseTtlMs }))) return undefined;
  if (await takeProbes(broker, chosen, leaseId)) return { leaseId, accountId, candidate };
  await store.settleLease(accountId, request);
  return undefined;
}

/** The right to probe the account and the pool, where the request would: both or none. */
async function takeProbes(broker: Broker, { candidate, view, probe, poolProbe }: Chosen, leaseId: string) {
  const { store, clock } = broker;
  const { settings } = broker.configuration;
  const rules = { settings, random: broker.random };
  const { pool, model } = candidate.candidate;
  const { id } = view.account;
  const nowMs = clock.nowMs();
  if (probe && !(await store.changeHealth(id, (health) => startProbe(health, { leaseId, model, nowMs }, rules)))) {
    return false;
  }
  if (!poolProbe) return true;
  const start = { leaseId, expiresAtMs: nowMs + settings.poolProbeQuietMs };
  if (await store.changePoolHealth(pool.name, (health) => startPoolProbe(health, model, start, nowMs))) return true;
  if (probe) await store.changeHealth(id, (health) => endProbe(health, leaseId));
  return false;
}

/** A session whose account can't serve it is set free, so that it stays where it succeeds next. */
async function dropStaleBinding({ store }: Broker, { candidate, view }: Chosen, affinityKey: string): Promise<void> {
  const { boundAccountId } = candidate;
  if (boundAccountId === undefined || boundAccountId === view.account.id) return;
  const bound = candidate.accounts.find(({ account }) => account.id === boundAccountId);
  // An account that is only busy keeps its sessions: what it has cached for them is worth more than one request elsewhere.
  if (bound !== undefined && bound.inFlight >= bound.account.maxConcurrency) return;
  await store.unbind(affinityIdOf(candidate.candidate.pool.name, affinityKey), boundAccountId);
}
