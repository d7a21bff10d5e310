import { ConfigError, type GatewayConfig } from '@gateway/config';
import { withoutRefusals } from '../health/account-health.ts';
import type { PoolStore } from '../store/pool-store.ts';
import type { ActiveConfiguration } from './active-configuration.ts';
import { type ConfigurationChange, changeBetween, changeProblems } from './configuration-change.ts';
import type { ConfigurationEvents } from './configuration-events.ts';

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
