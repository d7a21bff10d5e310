import type { GatewayConfig } from '@gateway/config';
import { AccountDirectory } from './account-directory.ts';
import type { CredentialStorage } from './credential-storage.ts';

/** A gateway with the accounts of its database as they are now, for looking at: nothing is refreshed. Without the tables there are none. */
export async function withStoredAccounts(
  gateway: GatewayConfig,
  { table, grants, accountSealer }: Pick<CredentialStorage, 'table' | 'grants' | 'accountSealer'>,
): Promise<GatewayConfig> {
  const onRefused = () => undefined;
  const directory = new AccountDirectory(gateway, { table, grants, sealer: accountSealer, onRefused });
  await directory.read().catch(() => undefined);
  return directory.gateway;
}
