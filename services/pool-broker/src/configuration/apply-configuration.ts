import { ConfigError, type GatewayConfig } from '@gateway/config';
import { withoutRefusals } from '../health/out-of-service.ts';
import type { PoolStore } from '../store/pool-store.ts';
import type { ActiveConfiguration } from './active-configuration.ts';
import { changeBetween, changeProblems } from './configuration-change.ts';
import type { ConfigurationEvents } from './configuration-events.ts';

export interface ApplyContext {
  readonly configuration: ActiveConfiguration;
  readonly store: PoolStore;
  readonly events: ConfigurationEvents;
  /** Called in the same tick as the change, so that nobody who looks then goes back to what was before. */
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
  // An added account may have been refused by a replica that did not know it yet.
  await forgetRefusals(store, [...change.accounts.added, ...change.newCredentials]).catch(events.pausesKept);
}

/** What was refused was not the credential of now, which is tried at once. */
export async function forgetRefusals(store: PoolStore, accountIds: readonly string[]): Promise<void> {
  await Promise.all(accountIds.map((accountId) => store.changeHealth(accountId, withoutRefusals)));
}
