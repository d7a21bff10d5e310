import { type PoolFormat, poolFormats } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import type { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import type { LabelSet } from '@gateway/proto/pool/v1/model_pb.js';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { LabelSets } from '../accounts/account.ts';
import { callerOfLease, cancelled, longestCause, toAttempt } from '../accounts/attempt.ts';
import { providerFormats } from '../catalog/catalog.ts';
import { pausesOf } from '../health/pool-pauses.ts';
import { forecastsOf } from '../health/quota-forecasts.ts';
import { acquireLease } from '../selection/acquire-lease.ts';
import type { Broker } from '../selection/broker.ts';
import { explainModel } from '../selection/explain-model.ts';
import { readAccounts } from '../selection/read-candidates.ts';
import { settleAttempt } from '../selection/settle-attempt.ts';
import { toAccountMessage, toRefusedMessage } from './account-messages.ts';
import { toManagedSettings, toModelMessage, toPriceList } from './catalog-messages.ts';

/** Handlers of `gateway.pool.v1.PoolBrokerService`. The contract documents each call. */
export function poolBrokerHandlers(broker: Broker): Handlers<typeof PoolBrokerService> {
  const { configuration, directory, store, draining } = broker;
  return {
    async acquire({ formats, attempts, accountLabels, ...asked }, { signal }) {
      const nowMs = store.nowMs();
      const answer = await acquireLease(broker, {
        ...asked,
        formats: formats.flatMap(fromProviderFormat),
        attempts: attempts.map((each) => toAttempt(each, nowMs)).filter((attempt) => attempt !== undefined),
        labelSets: fromLabelSets(accountLabels),
      });
      // A caller that is gone would never report on its lease, whose place would be lost until the
      // lease expires.
      if (signal.aborted && answer.result.case === 'lease') {
        await settleAttempt(broker, { ...answer.result.value, report: cancelled }, '');
      }
      return answer;
    },

    async report({ attempt, affinityKey, answerKeys }) {
      const ended = attempt && toAttempt(attempt, store.nowMs());
      if (ended !== undefined) await settleAttempt(broker, ended, affinityKey, answerKeys);
      return {};
    },

    async renewLeases({ renewals }) {
      const { accounts, settings } = configuration;
      // Leases of accounts that are no longer configured need no renewal.
      const known = renewals.filter(({ accountId }) => accounts.byId(accountId) !== undefined);
      const renewed = known.map(({ leaseId, accountId, pool, model }) => {
        const caller = callerOfLease(leaseId);
        return store.renewLease({ leaseId, accountId, pool, model, caller, leaseTtlMs: settings.leaseTtlMs });
      });
      await Promise.all(renewed);
      return {};
    },

    listModels: () => ({ models: configuration.catalog.listing().map(toModelMessage) }),

    async *watchCatalog(_request, { signal }) {
      const until = AbortSignal.any([signal, draining]);
      for await (const { models, prices, managedSettings } of configuration.catalog.watch(until)) {
        yield {
          models: models.map(toModelMessage),
          prices: toPriceList(prices),
          managedSettings: managedSettings.map(toManagedSettings),
        };
      }
    },

    listPools({ format: wanted }) {
      const { catalog, settings } = configuration;
      const isAny = fromProviderFormat(wanted).length === 0;
      const pools = catalog.pools.map(({ name, ownedBy, format, simulated }) => {
        const { reportedAtMs, reachable = true, cause = '', models = [] } = catalog.reportOn(name) ?? {};
        const modelListFailure = reachable ? '' : cause || 'the model list could not be read';
        const modelCount = models.length;
        const list = { modelsReportedAtMs: reportedAtMs, modelListFailure, modelCount };
        return { name, ownedBy, format: providerFormats[format], simulated, ...list };
      });
      return {
        modelListRefreshSeconds: settings.modelListRefreshMs / 1_000,
        pools: pools.filter(({ format }) => isAny || format === wanted),
      };
    },

    async reportModels({ pool, reachable, models, cause }) {
      const { catalog } = configuration;
      if (!catalog.pools.some(({ name }) => name === pool)) {
        throw new GatewayError('invalid_request', 'The pool does not exist.');
      }
      const listed = reachable ? models.map(({ id, displayName }) => ({ id, displayName })) : undefined;
      await catalog.report(pool, listed, reachable ? undefined : cause.slice(0, longestCause));
      return {};
    },

    async listAccounts({ pool }) {
      const { accounts } = configuration;
      const views = await readAccounts(broker, pool === '' ? accounts.all : accounts.ofPool(pool));
      const names = configuration.gateway.pools.map(({ name }) => name).filter((name) => pool === '' || name === pool);
      const pools = await Promise.all(names.map(async (name) => [name, await store.readPool(name)] as const));
      const nowMs = store.nowMs();
      const used = views.map((view) => toAccountMessage(view, nowMs, configuration.gateway));
      const ids = new Set(used.map(({ id }) => id));
      const unused = directory.refused.map(toRefusedMessage).filter((account) => !ids.has(account.id));
      return {
        accounts: [...used, ...unused.filter((account) => pool === '' || account.pool === pool)],
        forecasts: forecastsOf(views, nowMs),
        pauses: pausesOf(views, new Map(pools), nowMs),
      };
    },

    async explain({ model, affinityKey, accountLabels }) {
      const explained = await explainModel(broker, model, affinityKey, fromLabelSets(accountLabels));
      const nowMs = store.nowMs();
      const candidates = explained.map(({ candidate, accounts }) => ({
        pool: candidate.pool.name,
        model: candidate.model,
        accounts: accounts.map(({ view, ...choice }) => ({
          account: toAccountMessage(view, nowMs, configuration.gateway),
          ...choice,
        })),
      }));
      return { candidates };
    },
  };
}

/** A set without labels restricts nothing. */
function fromLabelSets(sets: readonly LabelSet[]): LabelSets {
  return sets.map(({ labels }) => labels).filter(({ length }) => length > 0);
}

/** Empty for unspecified, and for formats of a newer contract. */
function fromProviderFormat(format: ProviderFormat): readonly PoolFormat[] {
  return poolFormats.filter((each) => providerFormats[each] === format);
}
