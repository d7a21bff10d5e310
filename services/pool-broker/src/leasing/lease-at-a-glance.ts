import type { Broker } from '../broker.ts';
import type { Candidate } from '../catalog/catalog.ts';
import { runsShort } from '../selection/fair-share.ts';
import type { CandidateView } from '../selection/select-account.ts';
import type { PoolGlance } from '../store/pool-glance.ts';
import { affinityIdOf } from './affinity-id.ts';
import { type LeaseResult, type Search, select } from './lease-search.ts';
import { viewsOf } from './read-candidates.ts';

/**
 * Leases the account that the store, by what it said within the last moments, would let the request have: in the usual case,
 * which is a first attempt, an account that nothing keeps, a session that stays where it is, and a pool that has plenty. The
 * store takes the lease only if all that decided this is as it was seen. Undefined, or resolves to it: the store must be asked.
 */
export function leaseAtAGlance(broker: Broker, search: Search): Promise<LeaseResult | undefined> | undefined {
  const [candidate] = search.candidates;
  const { attempts, affinityKey } = search.request;
  if (candidate === undefined || attempts.length > 0) return undefined;
  const glance = glanceAt(broker, candidate, affinityKey);
  if (glance === undefined) return undefined;
  const view = viewOf(broker, candidate, glance);
  const { selection, choice } = select(broker, search, [view]);
  if (selection.kind !== 'chosen' || selection.probe || selection.poolProbe) return undefined;
  const { account } = selection.view;
  if (glance.boundAccountId !== undefined && glance.boundAccountId !== account.id) return undefined;
  if (search.caller !== '' && mindsShares(broker, view)) return undefined;
  const { settings } = broker;
  const { id: accountId, maxConcurrency } = account;
  const request = { pool: candidate.pool.name, model: candidate.model, caller: search.caller };
  const lease = { ...request, accountId, maxConcurrency, leaseTtlMs: settings.leaseTtlMs };
  return glance
    .take(lease, settings.callerMemoryMs)
    .then((leaseId) =>
      leaseId === undefined ? undefined : { kind: 'leased', lease: { leaseId, accountId, candidate }, choice },
    );
}

function glanceAt({ store, roster }: Broker, { pool }: Candidate, affinityKey: string): PoolGlance | undefined {
  const affinityId = affinityKey === '' ? undefined : affinityIdOf(pool.name, affinityKey);
  return store.glanceAt({ pool: pool.name, accountIds: roster.ofPool(pool.name).map(({ id }) => id), affinityId });
}

/** Nobody's share is known at a glance. */
function viewOf(broker: Broker, candidate: Candidate, glance: PoolGlance): CandidateView {
  const accounts = viewsOf(broker, broker.roster.ofPool(candidate.pool.name), glance.accounts);
  const { poolHealth, boundAccountId } = glance;
  return { candidate, accounts, poolHealth, boundAccountId, callerShare: undefined };
}

function mindsShares({ settings: rules, clock }: Broker, { accounts, candidate }: CandidateView): boolean {
  return runsShort(accounts, candidate.model, { rules, nowMs: clock.nowMs() });
}
