import type { MessageInitShape } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import type { AcquireResponseSchema, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { callerOfLease } from '../accounts/attempt.ts';
import { withoutRefusals } from '../health/account-health.ts';
import { acquireLease, type Lease, type LeaseResult } from '../selection/acquire-lease.ts';
import type { Broker } from '../selection/broker.ts';
import { explainModel } from '../selection/explain-model.ts';
import { readAccounts } from '../selection/read-candidates.ts';
import { settleAttempt } from '../selection/settle-attempt.ts';
import {
  fromAttemptMessage,
  fromProviderFormat,
  toAccountMessage,
  toLeaseMessage,
  toProviderFormat,
  toTimestamp,
} from './messages.ts';

/** What `gateway.pool.v1.PoolBrokerService` answers. See the contract for what each call is for. */
export function poolBrokerHandlers(broker: Broker): Handlers<typeof PoolBrokerService> {
  const { configuration, store, credentials, clock, draining } = broker;
  return {
    async acquire({ model, formats, affinityKey, attempts, allowCandidateFailover, caller }, { signal }) {
      const result = await acquireLease(broker, {
        ...{ model, affinityKey, allowCandidateFailover, caller },
        formats: new Set(formats.map(fromProviderFormat).filter((format) => format !== undefined)),
        attempts: attempts.map(fromAttemptMessage).filter((attempt) => attempt !== undefined),
      });
      // A caller that has gone would never report on its lease, whose place would be lost until it expires.
      if (result.kind === 'leased' && signal.aborted) await takeBack(broker, result.lease);
      return { result: toResult(result, broker), reason: result.reason, skipped: result.skipped };
    },

    async report({ attempt: message, affinityKey, answerKeys }) {
      const attempt = message === undefined ? undefined : fromAttemptMessage(message);
      if (attempt !== undefined) await settleAttempt(broker, attempt, affinityKey, answerKeys);
      return {};
    },

    async renewLeases({ renewals }) {
      const { accounts, settings } = configuration;
      // Leases of accounts that are no longer configured have nothing to keep.
      const known = renewals.filter(({ accountId }) => accounts.byId(accountId) !== undefined);
      const renewed = known.map(({ leaseId, accountId, pool, model }) => {
        const caller = callerOfLease(leaseId);
        return store.renewLease({ leaseId, accountId, pool, model, caller, leaseTtlMs: settings.leaseTtlMs });
      });
      await Promise.all(renewed);
      return {};
    },

    listModels: () => ({ models: [...configuration.catalog.listing()] }),

    async *watchCatalog(_request, { signal }) {
      const until = AbortSignal.any([signal, draining]);
      for await (const listing of configuration.catalog.watch(until)) yield { models: [...listing] };
    },

    listPools({ format }) {
      const { catalog, settings } = configuration;
      const wanted = fromProviderFormat(format);
      const pools = catalog.pools.filter((pool) => wanted === undefined || pool.format === wanted);
      return {
        modelListRefreshSeconds: settings.modelListRefreshMs / 1_000,
        pools: pools.map((pool) => ({
          ...{ name: pool.name, ownedBy: pool.ownedBy, format: toProviderFormat(pool.format) },
          modelsReportedAt: toTimestamp(catalog.reportedAtMs(pool.name)),
        })),
      };
    },

    async reportModels({ pool, reachable, models }) {
      const { catalog } = configuration;
      if (!catalog.pools.some(({ name }) => name === pool)) {
        throw new GatewayError('invalid_request', 'There is no such pool.');
      }
      await catalog.report(pool, reachable ? models.map(({ id, displayName }) => ({ id, displayName })) : undefined);
      return {};
    },

    async listAccounts({ pool }) {
      const { accounts } = configuration;
      const views = await readAccounts(broker, pool === '' ? accounts.all : accounts.ofPool(pool));
      const nowMs = clock.nowMs();
      return { accounts: views.map((view) => toAccountMessage(view, nowMs)) };
    },

    async enableAccount({ accountId }) {
      const account = configuration.accounts.byId(accountId);
      if (account === undefined) return { known: false };
      await credentials.forgetProblem(account);
      await store.changeHealth(accountId, withoutRefusals);
      return { known: true };
    },

    async explain({ model, affinityKey }) {
      const explained = await explainModel(broker, model, affinityKey);
      const nowMs = clock.nowMs();
      return {
        candidates: explained.map(({ candidate, accounts }) => ({
          pool: candidate.pool.name,
          model: candidate.model,
          accounts: accounts.map(({ view, ...choice }) => ({ account: toAccountMessage(view, nowMs), ...choice })),
        })),
      };
    },
  };
}

async function takeBack(broker: Broker, { leaseId, accountId, candidate: { pool, model } }: Lease): Promise<void> {
  await settleAttempt(broker, { leaseId, accountId, pool: pool.name, model, outcome: unused }, '');
}

const unused = { result: 'cancelled', retryAtMs: undefined, modelScoped: false, windows: [] } as const;

function toResult(
  result: LeaseResult,
  { configuration: { settings } }: Broker,
): MessageInitShape<typeof AcquireResponseSchema>['result'] {
  switch (result.kind) {
    case 'leased':
      return { case: 'lease', value: toLeaseMessage(result.lease, settings.leaseTtlMs) };
    case 'exhausted':
      return { case: 'exhausted', value: { retryAt: toTimestamp(result.retryAtMs) } };
    case 'unavailable':
      return { case: 'unavailable', value: {} };
    case 'unknown_model':
      return { case: 'unknownModel', value: { otherFormatsOnly: result.otherFormatsOnly } };
    default:
      return result satisfies never;
  }
}
