import { randomUUID } from 'node:crypto';
import type { PoolFormat } from '@gateway/config';
import type { Attempt } from '../accounts/attempt.ts';
import { isError } from '../accounts/attempt.ts';
import type { Broker } from '../broker.ts';
import type { Candidate } from '../catalog/resolve-model.ts';
import { startProbe } from '../health/probe.ts';
import { type Selection, selectAccount } from '../selection/select-account.ts';
import { affinityIdOf } from './affinity-id.ts';
import { readCandidates } from './read-candidates.ts';
import { LeasingHistory } from './request-history.ts';
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
}

/** The right to send one request with one account. */
export interface Lease {
  readonly leaseId: string;
  readonly accountId: string;
  readonly candidate: Candidate;
}

export type LeaseResult =
  | { readonly kind: 'leased'; readonly lease: Lease }
  | { readonly kind: 'exhausted'; readonly retryAtMs: number | undefined }
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'unknown_model' };

/** Settles the request's last attempt and leases the account for the next one, or says why there is none. */
export async function acquireLease(broker: Broker, request: LeaseRequest): Promise<LeaseResult> {
  const last = request.attempts.at(-1);
  if (last === undefined) broker.retryBudget.noteRequest();
  else await settleAttempt(broker, last, request.affinityKey);
  const result = await leaseNext(broker, request);
  broker.events.acquired(result.kind);
  return result;
}

async function leaseNext(broker: Broker, request: LeaseRequest): Promise<LeaseResult> {
  const all = broker.catalog.resolve(request.model, request.formats);
  if (all.length === 0) return { kind: 'unknown_model' };
  const candidates = request.allowCandidateFailover ? all : all.slice(0, 1);
  const history = new LeasingHistory(request.attempts);
  while (true) {
    const selection = await selectNow(broker, request, candidates, history);
    if (selection.kind !== 'chosen') return selection;
    if (mayNotRetry(broker, request.attempts)) return { kind: 'unavailable' };
    const lease = await takeLease(broker, selection);
    if (lease !== undefined) {
      await dropStaleBinding(broker, selection, request.affinityKey);
      if (followsError(request.attempts)) broker.retryBudget.noteRetry();
      return { kind: 'leased', lease };
    }
    // Ends, because an account is overtaken at once and there are only so many.
    history.noteOvertakenAt(selection.view.account.id);
  }
}

async function selectNow(
  broker: Broker,
  { affinityKey }: LeaseRequest,
  candidates: readonly Candidate[],
  history: LeasingHistory,
): Promise<Selection> {
  const views = await readCandidates(broker, candidates, affinityKey);
  const { clock, random } = broker;
  return selectAccount({ candidates: views, affinityKey, history, nowMs: clock.nowMs(), random });
}

/**
 * True when errors have used up what a request may spend. Asked only when there is an account left, so that a request whose
 * other accounts are all limited is told so.
 */
function mayNotRetry({ settings, retryBudget, events }: Broker, attempts: readonly Attempt[]): boolean {
  if (attempts.filter(({ outcome }) => isError(outcome.result)).length >= settings.maxErrorAttempts) {
    events.retryRefused('attempts');
    return true;
  }
  if (!followsError(attempts) || retryBudget.allowsRetry()) return false;
  events.retryRefused('budget');
  return true;
}

function followsError(attempts: readonly Attempt[]): boolean {
  const last = attempts.at(-1);
  return last !== undefined && isError(last.outcome.result);
}

type Chosen = Extract<Selection, { kind: 'chosen' }>;

/** Undefined when another request took the account's last place, or its probe, since we looked. */
async function takeLease(broker: Broker, { candidate, view, probe }: Chosen): Promise<Lease | undefined> {
  const { store, settings } = broker;
  const { id: accountId, maxConcurrency } = view.account;
  const leaseId = randomUUID();
  if (!(await store.takeLease({ accountId, leaseId, maxConcurrency, leaseTtlMs: settings.leaseTtlMs })))
    return undefined;
  if (probe && !(await takeProbe(broker, accountId, candidate.candidate.model, leaseId))) {
    await store.settleLease(accountId, leaseId);
    return undefined;
  }
  return { leaseId, accountId, candidate: candidate.candidate };
}

function takeProbe(
  { store, settings, clock }: Broker,
  accountId: string,
  model: string,
  leaseId: string,
): Promise<boolean> {
  const nowMs = clock.nowMs();
  const probe = { leaseId, expiresAtMs: nowMs + settings.probeTimeoutMs };
  return store.changeHealth(accountId, (health) => startProbe(health, { model, nowMs, probe }));
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
