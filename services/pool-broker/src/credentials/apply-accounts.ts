import type { GatewayConfig } from '@gateway/config';
import type { ActiveConfiguration } from '../configuration/active-configuration.ts';
import { forgetRefusals } from '../configuration/apply-configuration.ts';
import { changeBetween } from '../configuration/configuration-change.ts';
import type { PoolStore } from '../store/pool-store.ts';

/** Goes over to other accounts of the same pools. What an account was refused with another credential is forgotten. */
export async function applyAccounts(
  configuration: ActiveConfiguration,
  store: PoolStore,
  next: GatewayConfig,
): Promise<void> {
  const { accounts, newCredentials } = changeBetween(configuration.gateway, next);
  if (accounts.added.length + accounts.removed.length + accounts.changed.length === 0) return;
  configuration.replace(next);
  await forgetRefusals(store, [...accounts.added, ...newCredentials]).catch(() => undefined);
}
