import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { PoolFormat } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { callerOfLease, cancelled, toAttempt } from '../accounts/attempt.ts';
import { providerFormats } from '../catalog/catalog.ts';
import { acquireLease } from '../selection/acquire-lease.ts';
import type { Broker } from '../selection/broker.ts';
import { settleAttempt } from '../selection/settle-attempt.ts';
import { operatorHandlers } from './operators.ts';

/** What `gateway.pool.v1.PoolBrokerService` answers. See the contract for what each call is for. */
export function poolBrokerHandlers(broker: Broker): Handlers<typeof PoolBrokerService> {
  const { configuration, store, draining } = broker;
  return {
    ...operatorHandlers(broker),

    async acquire({ model, formats, affinityKey, attempts, allowCandidateFailover, caller }, { signal }) {
      const answer = await acquireLease(broker, {
        ...{ model, affinityKey, allowCandidateFailover, caller },
        formats: formats.flatMap(fromProviderFormat),
        attempts: attempts.map(toAttempt).filter((attempt) => attempt !== undefined),
      });
      // A caller that has gone would never report on its lease, whose place would be lost until it expires.
      if (signal.aborted && answer.result.case === 'lease') {
        await settleAttempt(broker, { ...answer.result.value, outcome: cancelled }, '');
      }
      return answer;
    },

    async report({ attempt, affinityKey, answerKeys }) {
      const ended = attempt && toAttempt(attempt);
      if (ended !== undefined) await settleAttempt(broker, ended, affinityKey, answerKeys);
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

    listPools({ format: wanted }) {
      const { catalog, settings } = configuration;
      const isAny = fromProviderFormat(wanted).length === 0;
      const pools = catalog.pools.map(({ name, ownedBy, format }) => {
        const reportedAtMs = catalog.reportedAtMs(name);
        const modelsReportedAt = reportedAtMs === undefined ? undefined : timestampFromMs(reportedAtMs);
        return { name, ownedBy, format: providerFormats[format], modelsReportedAt };
      });
      return {
        modelListRefreshSeconds: settings.modelListRefreshMs / 1_000,
        pools: pools.filter(({ format }) => isAny || format === wanted),
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
  };
}

/** Nothing for unspecified, and for formats of a newer contract. */
function fromProviderFormat(format: ProviderFormat): PoolFormat[] {
  if (format === ProviderFormat.RESPONSES) return ['responses'];
  return format === ProviderFormat.MESSAGES ? ['messages'] : [];
}
