import { ConfigError, type GatewayConfig } from '@gateway/config';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { withoutRefusals } from '../health/account-health.ts';
import type { PoolStore } from '../store/pool-store.ts';
import type { ActiveConfiguration } from './active-configuration.ts';
import { type ConfigurationChange, changeBetween, changeProblems, type Difference } from './configuration-change.ts';

export interface ApplyContext {
  readonly configuration: ActiveConfiguration;
  readonly store: PoolStore;
  readonly events: ConfigurationEvents;
  /** Called in the same tick as the change, so that the accounts of the database are not added to the file of before. */
  readonly onReplaced?: () => void;
}

/** Goes over to another configuration, all of it or, with a ConfigError, nothing of it. */
export async function applyConfiguration(
  { configuration, store, events, onReplaced }: ApplyContext,
  next: GatewayConfig,
): Promise<void> {
  const before = configuration.gateway;
  const problems = changeProblems(before, next);
  if (problems.length > 0) throw new ConfigError(problems);
  configuration.replace(next);
  onReplaced?.();
  const change = changeBetween(before, next);
  events.applied(change);
  await forgetRefusals(store, change).catch(events.pausesKept);
}

/** Goes over to other accounts of the same pools, if there are others. */
export async function applyAccounts(
  configuration: ActiveConfiguration,
  store: PoolStore,
  next: GatewayConfig,
): Promise<void> {
  const change = changeBetween(configuration.gateway, next);
  const { added, removed, changed } = change.accounts;
  if (added.length + removed.length + changed.length === 0) return;
  configuration.replace(next);
  await forgetRefusals(store, change).catch(() => undefined);
}

/**
 * What a provider refused was not the credential of now, which is tried at once. A replica that did not know it yet may have
 * been refused with an account that is new here.
 */
async function forgetRefusals(store: PoolStore, { accounts, newCredentials }: ConfigurationChange): Promise<void> {
  const ids = [...accounts.added, ...newCredentials];
  await Promise.all(ids.map((accountId) => store.changeHealth(accountId, withoutRefusals)));
}

export type ConfigurationEvents = ReturnType<typeof configurationEvents>;

/** What operators learn of a configuration that is read again. Pools and classes are named, accounts never. */
export function configurationEvents({ logger, metrics }: ServiceRuntime, path: string) {
  const reloads = metrics.counter({
    name: 'gateway_configuration_reloads_total',
    help: 'Times gateway.yaml was read again: applied, or refused, which changes nothing.',
    labels: ['result'],
  });
  const lastSuccess = metrics.gauge({
    name: 'gateway_configuration_last_success_timestamp_seconds',
    help: 'When the configuration in use was taken over.',
  });
  const isCurrent = metrics.gauge({
    name: 'gateway_configuration_last_reload_successful',
    help: '1 when the configuration in use is what gateway.yaml says, 0 when the file was refused since.',
  });
  const succeeded = (): void => {
    lastSuccess.setToCurrentTime();
    isCurrent.set(1);
  };
  reloads.inc({ result: 'applied' }, 0);
  reloads.inc({ result: 'refused' }, 0);
  return {
    /** The configuration of the start is in use. */
    started: succeeded,
    applied({ pools, accounts, classes, newCredentials }: ConfigurationChange): void {
      reloads.inc({ result: 'applied' });
      succeeded();
      const changes = { pools, classes, accounts: countsOf(accounts), newCredentials: newCredentials.length };
      logger.info({ path, ...changes }, 'gateway.yaml was read again and is in use');
    },
    refused(problems: readonly string[]): void {
      reloads.inc({ result: 'refused' });
      isCurrent.set(0);
      logger.error({ path, problems }, 'gateway.yaml was read again and can not be used: nothing has changed');
    },
    pausesKept: (thrown: unknown): void =>
      logger.warn(
        { err: thrown },
        'accounts that were refused with other credentials pause as long as they would have with those',
      ),
  };
}

function countsOf({ added, removed, changed }: Difference) {
  return { added: added.length, removed: removed.length, changed: changed.length };
}
