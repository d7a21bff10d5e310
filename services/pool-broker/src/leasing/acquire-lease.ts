import { type Attempt, isError } from '../accounts/attempt.ts';
import type { Broker } from '../broker.ts';
import type { Candidate } from '../catalog/catalog.ts';
import { startPoolProbe } from '../health/apply-to-pool.ts';
import { endProbe, startProbe } from '../health/cooldown.ts';
import { anyFormat } from '../messages/pool-format.ts';
import { type Awaitable, whenThere } from '../store/awaitable.ts';
import type { NewRequest } from '../store/request-book.ts';
import { affinityIdOf } from './affinity-id.ts';
import { toCallerId } from './caller-id.ts';
import { leaseAtAGlance } from './lease-at-a-glance.ts';
import {
  type Chosen,
  type Lease,
  type LeaseChoice,
  type LeaseRequest,
  type LeaseResult,
  type Search,
  type Selected,
  select,
} from './lease-search.ts';
import { readCandidates } from './read-candidates.ts';
import { LeasingHistory } from './request-history.ts';
import { settleAttempt } from './settle-attempt.ts';

/** Settles the request's last attempt and leases the account for the next one, or says why there is none. */
export function acquireLease(broker: Broker, request: LeaseRequest): Awaitable<LeaseResult> {
  return whenThere(noteLastAttempt(broker, request), () =>
    whenThere(leaseNext(broker, request), (result) => {
      broker.events.acquired(result.kind);
      return result;
    }),
  );
}

function noteLastAttempt(broker: Broker, { attempts, affinityKey }: LeaseRequest): Awaitable<void> {
  const last = attempts.at(-1);
  return last === undefined ? broker.retryBudget.noteRequest() : settleAttempt(broker, last, affinityKey);
}

function leaseNext(broker: Broker, request: LeaseRequest): Awaitable<LeaseResult> {
  const all = broker.catalog.resolve(request.model, request.formats);
  if (all.length === 0) {
    const otherFormatsOnly = broker.catalog.resolve(request.model, anyFormat).length > 0;
    return { kind: 'unknown_model', otherFormatsOnly, choice: nothingToChoose };
  }
  return leaseSoon(broker, {
    request,
    candidates: request.allowCandidateFailover ? inOrder(all, request.attempts, broker) : firstOf(all),
    history: new LeasingHistory(request.attempts),
    caller: toCallerId(request.caller),
    mayTry: false,
  });
}

function firstOf(all: readonly Candidate[]): readonly Candidate[] {
  return all.length === 1 ? all : all.slice(0, 1);
}

/** By a glance if there is one, else by asking the store. */
function leaseSoon(broker: Broker, search: Search): Awaitable<LeaseResult> {
  const atAGlance = leaseAtAGlance(broker, search);
  if (atAGlance === undefined) return leaseOneOf(broker, search);
  return atAGlance.then((result) => result ?? leaseOneOf(broker, search));
}

function leaseOneOf(broker: Broker, search: Search): Awaitable<LeaseResult> {
  const asking = { affinityKey: search.request.affinityKey, caller: search.caller };
  return whenThere(readCandidates(broker, search.candidates, asking), (views) =>
    leaseBest(broker, search, select(broker, search, views)),
  );
}

function leaseBest(broker: Broker, search: Search, { selection, choice }: Selected): Awaitable<LeaseResult> {
  if (selection.kind !== 'chosen') return { ...selection, choice };
  search.mayTry ||= takesItsTry(broker, search.request.attempts);
  if (!search.mayTry) return { kind: 'unavailable', choice: { ...choice, reason: spent } };
  return whenThere(takeLease(broker, selection, search.caller), (lease) => {
    if (lease !== undefined) {
      const result: LeaseResult = { kind: 'leased', lease, choice };
      return whenThere(dropStaleBinding(broker, selection, search.request.affinityKey), () => result);
    }
    // Ends, because an account is overtaken at once and there are only so many.
    search.history.noteOvertakenAt(selection.view.account.id);
    return leaseOneOf(broker, search);
  });
}

/**
 * Candidates in the order in which they are preferred. The last attempt that errors leave a request is for one that has not
 * failed it yet: what is wrong with all accounts of one provider must not keep it from another.
 */
function inOrder(
  candidates: readonly Candidate[],
  attempts: readonly Attempt[],
  { settings: { maxErrorAttempts } }: Broker,
): readonly Candidate[] {
  const errors = attempts.filter(({ outcome }) => isError(outcome.result));
  if (errors.length < maxErrorAttempts - 1) return candidates;
  const failedIt = ({ pool, model }: Candidate) =>
    errors.some((error) => error.pool === pool.name && error.model === model);
  return [...candidates.filter((each) => !failedIt(each)), ...candidates.filter(failedIt)];
}

const nothingToChoose: LeaseChoice = { reason: '', skipped: [] };
const spent =
  'it had spent what requests may spend after errors: its own attempts, or the budget for the retries of all';

/**
 * False when errors have used up what a request may spend; else a retry is spent, where it is one. Asked only when there is an
 * account left, so that a request whose other accounts are all limited is told so.
 */
function takesItsTry({ settings, retryBudget, events }: Broker, attempts: readonly Attempt[]): boolean {
  if (attempts.length === 0) return true;
  if (attempts.filter(({ outcome }) => isError(outcome.result)).length >= settings.maxErrorAttempts) {
    events.retryRefused('attempts');
    return false;
  }
  if (!followsError(attempts) || retryBudget.takeRetry()) return true;
  events.retryRefused('budget');
  return false;
}

function followsError(attempts: readonly Attempt[]): boolean {
  const last = attempts.at(-1);
  return last !== undefined && isError(last.outcome.result);
}

/** Undefined when another request took the account's last place, or its probe, since we looked. */
function takeLease(broker: Broker, selection: Chosen, caller: string): Awaitable<Lease | undefined> {
  const { candidate } = selection.candidate;
  const { id: accountId, maxConcurrency } = selection.view.account;
  const request = { pool: candidate.pool.name, model: candidate.model, caller };
  const { leaseTtlMs } = broker.settings;
  return whenThere(broker.store.takeLease({ ...request, accountId, maxConcurrency, leaseTtlMs }), (leaseId) => {
    if (leaseId === undefined) return undefined;
    const lease = { leaseId, accountId, candidate };
    return selection.probe || selection.poolProbe ? withProbes(broker, selection, lease, request) : lease;
  });
}

/** The lease with the right to probe that its request needs; undefined, and the lease is given back, without. */
async function withProbes(
  broker: Broker,
  selection: Chosen,
  lease: Lease,
  request: NewRequest,
): Promise<Lease | undefined> {
  if (await takeProbes(broker, selection, lease.leaseId)) return lease;
  await broker.store.settleLease(lease.accountId, { ...request, leaseId: lease.leaseId });
  return undefined;
}

/** The right to probe the account and the pool, where the request would: both or none. */
async function takeProbes(
  broker: Broker,
  { candidate, view, probe, poolProbe }: Chosen,
  leaseId: string,
): Promise<boolean> {
  const { store, clock, settings } = broker;
  const { pool, model } = candidate.candidate;
  const accountId = view.account.id;
  const nowMs = clock.nowMs();
  if (
    probe &&
    !(await store.changeHealth(accountId, (health) => startProbe(health, { leaseId, model, nowMs }, broker)))
  )
    return false;
  if (!poolProbe) return true;
  const start = { leaseId, expiresAtMs: nowMs + settings.poolProbeQuietMs };
  if (await store.changePoolHealth(pool.name, (health) => startPoolProbe(health, model, start, nowMs))) return true;
  if (probe) await store.changeHealth(accountId, (health) => endProbe(health, leaseId));
  return false;
}

/** A session whose account can't serve it is set free, so that it stays where it succeeds next. */
function dropStaleBinding({ store }: Broker, { candidate, view }: Chosen, affinityKey: string): Awaitable<void> {
  const { boundAccountId } = candidate;
  if (boundAccountId === undefined || boundAccountId === view.account.id) return;
  const bound = candidate.accounts.find(({ account }) => account.id === boundAccountId);
  // An account that is only busy keeps its sessions: what it has cached for them is worth more than one request elsewhere.
  if (bound !== undefined && bound.inFlight >= bound.account.maxConcurrency) return;
  return store.unbind(affinityIdOf(candidate.candidate.pool.name, affinityKey), boundAccountId);
}
