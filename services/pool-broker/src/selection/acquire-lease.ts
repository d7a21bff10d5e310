import { create } from '@bufbuild/protobuf';
import type { PoolFormat, PoolSettings } from '@gateway/config';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import {
  type AcquireRequest,
  type AcquireResponse,
  Lack,
  PoolExhaustedSchema,
  PoolUnavailableSchema,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { msUntil } from '@gateway/time';
import type { LabelSets } from '../accounts/account.ts';
import {
  type Attempt,
  concernsRequest,
  isError,
  mayConcernRequest,
  newLeaseId,
  toCallerId,
} from '../accounts/attempt.ts';
import { type Candidate, providerFormats } from '../catalog/catalog.ts';
import type { AccountHealth } from '../health/account-health.ts';
import { endProbe, startProbe } from '../health/cooldown.ts';
import type { SkipReason } from '../health/eligibility.ts';
import { startPoolProbe } from '../health/pool-health.ts';
import type { Broker } from './broker.ts';
import { exhaustedText, skipReasonText } from './explain-model.ts';
import { type Asking, affinityIdOf, readCandidate } from './read-candidates.ts';
import type { CandidateView, Chosen, Selection, SelectionRequest } from './select-account.ts';
import { askAnyway, maxPerCaller, selectAccount } from './select-account.ts';
import { settleAttempt } from './settle-attempt.ts';

type LeaseRequest = Omit<AcquireRequest, '$typeName' | 'requestId' | 'attempts' | 'formats' | 'accountLabels'> & {
  /** Empty: any format. */
  readonly formats: readonly PoolFormat[];
  readonly attempts: readonly Attempt[];
  readonly labelSets: LabelSets;
};

/**
 * Settles the request's last attempt and leases an account for the next one, or says why there is
 * none.
 */
export async function acquireLease(broker: Broker, request: LeaseRequest) {
  const last = request.attempts.at(-1);
  if (last === undefined) {
    const nowMs = broker.store.nowMs();
    broker.retryBudget.noteRequest(nowMs);
    broker.refusalBudget.noteRequest(nowMs);
  } else await settleAttempt(broker, last, request.affinityKey);
  const answer = await leaseNext(broker, request);
  broker.metrics.acquires.inc({ result: resultNames[answer.result.case] });
  return answer;
}

const resultNames = {
  lease: 'leased',
  exhausted: 'exhausted',
  unavailable: 'unavailable',
  unknownModel: 'unknown_model',
} as const satisfies Record<NonNullable<AcquireResponse['result']['case']>, string>;

/**
 * Leases the best account. If another request takes its last place, it selects again, at most once
 * per account.
 */
async function leaseNext(broker: Broker, request: LeaseRequest) {
  const { catalog, settings } = broker.configuration;
  const { model, formats, attempts, affinityKey, features, labelSets } = request;
  const resolved = catalog.resolve(model, formats, labelSets);
  if (resolved.length === 0) {
    const otherFormatsOnly = catalog.resolve(model, [], labelSets).length > 0;
    return { result: { case: 'unknownModel' as const, value: { otherFormatsOnly } } };
  }
  const { pricedOnDay } = request;
  const payable = resolved.filter(({ model: each }) => pricedOnDay === '' || catalog.hasPrice(each, pricedOnDay));
  if (payable.length === 0)
    return { result: { case: 'unknownModel' as const, value: { unpriced: true } }, reason: noPrice };
  const candidates = request.allowCandidateFailover ? inOrder(payable, attempts, settings) : payable.slice(0, 1);
  const caller = toCallerId(request.caller);
  const overtakenIds: string[] = [];
  for (let mayAttempt = false; ; ) {
    const asked = { affinityKey, caller, labelSets, features, attempts, overtakenIds };
    const selection = await selectOneOf(broker, candidates, asked);
    const skipped = () => skippedAccounts(selection.examinations);
    if (selection.kind === 'exhausted') {
      for (const pool of new Set(candidates.map((candidate) => candidate.pool.name))) {
        broker.metrics.exhausted.inc({ pool });
      }
      const result = { case: 'exhausted' as const, value: create(PoolExhaustedSchema, retryOf(selection, broker)) };
      return { result, reason: exhaustedText(selection.examinations), skipped: skipped() };
    }
    if (selection.kind === 'unavailable') {
      const lack = selection.lack === undefined ? Lack.UNSPECIFIED : lacks[selection.lack];
      return {
        result: {
          case: 'unavailable' as const,
          value: create(PoolUnavailableSchema, { lack, ...retryOf(selection, broker) }),
        },
        skipped: skipped(),
      };
    }
    mayAttempt ||= takeAttempt(broker, attempts);
    if (!mayAttempt)
      return {
        result: { case: 'unavailable' as const, value: create(PoolUnavailableSchema) },
        reason: noAttemptLeft,
        skipped: skipped(),
      };
    const leaseId = newLeaseId(caller);
    if (await takeLease(broker, selection, { leaseId, features, caller })) {
      const stale = staleBindingOf(selection, attempts);
      const { pool } = selection.candidate.candidate;
      if (stale !== undefined) await broker.store.unbind(affinityIdOf(pool.name, affinityKey), stale);
      const lease = leaseOf(selection, leaseId, settings);
      const others = skippedAccounts(selection.examinations, selection);
      return { result: { case: 'lease' as const, value: lease }, reason: selection.reason, skipped: others };
    }
    overtakenIds.push(selection.view.account.id);
  }
}

function retryOf({ retryAtMs }: { readonly retryAtMs?: number | undefined }, { store }: Broker) {
  if (retryAtMs === undefined) return {};
  return { retryAtMs, retryAfterMs: msUntil(retryAtMs, store.nowMs()) };
}

const lacks = {
  [AttemptResult.MODEL_UNAVAILABLE]: Lack.MODEL,
  [AttemptResult.FEATURE_UNAVAILABLE]: Lack.FEATURE,
} as const;

const noPrice = "no candidate has a price, which the budget of the token's group requires";

const noAttemptLeft = 'the request had used all its attempts after errors, or the retry budget was spent';

function leaseOf({ candidate, view }: Chosen, leaseId: string, { leaseTtlMs }: PoolSettings) {
  const { pool, model, defaultEffort, isUnlisted: modelUnlisted = false, traits } = candidate.candidate;
  return {
    ...{ leaseId, accountId: view.account.id, pool: pool.name, model, modelUnlisted, defaultEffort },
    format: providerFormats[pool.format],
    provider: pool.ownedBy,
    ttlSeconds: leaseTtlMs / 1_000,
    traits,
  };
}

/** The leased account is not one of them, even if it was chosen in spite of a reason to skip it. */
function skippedAccounts(examinations: Selection['examinations'], chosen?: Chosen) {
  return examinations.flatMap(({ candidate: of, examined }) => {
    const { pool, model } = of.candidate;
    const groups = new Map<string, { count: number; readonly names: string[] }>();
    const others = of === chosen?.candidate ? examined.filter((each) => each.view !== chosen.view) : examined;
    for (const { skipReason, view } of others) {
      if (skipReason === undefined) continue;
      const reason = `${skipReasonText(skipReason, false)}${errorText(skipReason, view.health)}`;
      const group = groups.get(reason) ?? { count: 0, names: [] };
      groups.set(reason, group);
      group.count += 1;
      if (group.names.length < mostNames) group.names.push(view.account.name);
    }
    return [...groups].map(([reason, group]) => ({ pool: pool.name, model, reason, ...group }));
  });
}

/**
 * What last failed at an account that cools down because of it: ": no connection to 10.0.0.7:443 in
 * time". Empty: the reason says it.
 */
function errorText(skipReason: SkipReason, { lastError }: AccountHealth): string {
  if (skipReason.kind !== 'cooling' && skipReason.kind !== 'probing') return '';
  const isOfLastError = skipReason.cooldown.reason === lastError?.result;
  return isOfLastError && lastError.cause ? `: ${lastError.cause}` : '';
}

/** Names of one group of skipped accounts. A large pool must not make each answer large. */
const mostNames = 3;

type Question = Asking & Pick<LeaseRequest, 'features'> & Pick<SelectionRequest, 'attempts' | 'overtakenIds'>;

/** Selects from a sample of the accounts if that decides; otherwise from all of them. */
async function selectOneOf(broker: Broker, candidates: readonly Candidate[], asked: Question): Promise<Selection> {
  const { random, store, configuration } = broker;
  for (const which of ['sample', 'all'] as const) {
    const views: CandidateView[] = [];
    for (const candidate of candidates) {
      views.push(await readCandidate(broker, candidate, asked, which));
      const rules = configuration.settings;
      const selection = selectAccount({ ...asked, candidates: views, rules, nowMs: store.nowMs(), random });
      // A later candidate is read only if the earlier ones have no usable account.
      if (selection?.kind === 'chosen') return selection;
      if (selection !== undefined && views.length === candidates.length) {
        return askAnyway(selection, { ...asked, random });
      }
    }
  }
  throw new Error('All accounts were considered.');
}

/**
 * The last attempt that errors allow is made at a candidate that has not failed the request yet,
 * because another provider may serve it.
 */
function inOrder(
  candidates: readonly Candidate[],
  attempts: readonly Attempt[],
  { maxErrorAttempts }: PoolSettings,
): readonly Candidate[] {
  const errors = attempts.filter(({ report }) => isError(report.result));
  if (errors.length < maxErrorAttempts - 1) return candidates;
  const failedIt = ({ pool, model }: Candidate) =>
    errors.some((error) => error.pool === pool.name && error.model === model);
  return candidates.toSorted((one, other) => Number(failedIt(one)) - Number(failedIt(other)));
}

/**
 * Checked only when there is a usable account, so that a request whose remaining accounts are all
 * limited gets that answer.
 */
function takeAttempt(broker: Broker, attempts: readonly Attempt[]): boolean {
  const { configuration, store, metrics, retryBudget, refusalBudget } = broker;
  const { maxErrorAttempts } = configuration.settings;
  const last = attempts.at(-1);
  const errors = attempts.filter(({ report }) => isError(report.result));
  if (errors.length >= maxErrorAttempts) {
    metrics.retriesRefused.inc({ reason: 'attempts' });
    return false;
  }
  const followsError = errors.length > 0 && errors.at(-1) === last;
  if (followsError && !retryBudget.takeRetry(configuration.settings, store.nowMs())) {
    metrics.retriesRefused.inc({ reason: 'budget' });
    return false;
  }
  // A pool may have many accounts, and a request that none of them accepts may come again and
  // again.
  const refusals = attempts.filter(mayConcernRequest);
  const isRefusedOften = refusals.length >= maxErrorAttempts && refusals.at(-1) === last;
  if (!isRefusedOften || refusalBudget.takeRetry(configuration.settings, store.nowMs())) return true;
  metrics.retriesRefused.inc({ reason: 'refusals' });
  return false;
}

/** False when another request took the place first. */
async function takeLease(broker: Broker, chosen: Chosen, taker: LeaseTaker): Promise<boolean> {
  const { leaseId, caller } = taker;
  const { store, configuration } = broker;
  const { pool, model } = chosen.candidate.candidate;
  const { id: accountId, maxConcurrency } = chosen.view.account;
  const { leaseTtlMs } = configuration.settings;
  const max = maxPerCaller(chosen.candidate, { nowMs: store.nowMs(), rules: configuration.settings });
  // Concurrent requests have all seen the same places as free.
  const caps = { maxConcurrency, maxPerCaller: max === 'undecided' ? Number.POSITIVE_INFINITY : max };
  const lease = { leaseId, accountId, pool: pool.name, model, caller, leaseTtlMs, ...caps };
  if (!(await store.takeLease(lease))) return false;
  if ((!chosen.probe && !chosen.poolProbe) || (await takeProbes(broker, chosen, taker))) return true;
  await store.settleLease(accountId, lease);
  return false;
}

interface LeaseTaker extends Pick<LeaseRequest, 'features'> {
  readonly leaseId: string;
  readonly caller: string;
}

async function takeProbes(
  broker: Broker,
  { candidate, view, probe, poolProbe }: Chosen,
  { leaseId, features }: LeaseTaker,
): Promise<boolean> {
  const { store, random } = broker;
  const { pool, model } = candidate.candidate;
  const { id } = view.account;
  const rules = { settings: broker.configuration.settings, random };
  const start = { leaseId, model, features, nowMs: store.nowMs() };
  if (probe && !(await store.changeHealth(id, (health) => startProbe(health, start, rules)))) return false;
  if (!poolProbe) return true;
  if (await store.changePoolHealth(pool.name, (health) => startPoolProbe(health, start, rules))) return true;
  if (probe) await store.changeHealth(id, (health) => endProbe(health, { leaseId }));
  return false;
}

/**
 * The session's binding to an account that can't serve it: once it is removed, the session stays
 * where it next succeeds.
 */
function staleBindingOf(chosen: Chosen, attempts: readonly Attempt[]): string | undefined {
  const { accounts, boundAccountId } = chosen.candidate;
  if (boundAccountId === undefined || boundAccountId === chosen.view.account.id) return undefined;
  const tried = attempts.findLast(({ accountId }) => accountId === boundAccountId);
  if (tried !== undefined && concernsRequest(tried.report)) return undefined;
  const bound = accounts.find(({ account }) => account.id === boundAccountId);
  // An account that is only busy keeps its sessions: its cache for them is worth more than one
  // request elsewhere.
  return bound !== undefined && bound.inFlight >= bound.account.maxConcurrency ? undefined : boundAccountId;
}
