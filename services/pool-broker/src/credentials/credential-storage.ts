import type { GatewayConfig } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { Clock } from '@gateway/time';
import { AccountDirectory } from './account-directory.ts';
import { AccountTable } from './account-table.ts';
import type { CredentialConfig, RefreshSettings } from './credential-config.ts';
import { DatabaseGrantStore } from './database-grant-store.ts';
import { Encryption } from './encryption.ts';
import { type GrantStore, MemoryGrantStore } from './grant-store.ts';

/** Where credentials are kept. */
export interface CredentialStorage {
  /** Undefined: there is no database. */
  readonly table: AccountTable | undefined;
  readonly grants: GrantStore;
  /** Undefined: there is no key, and no account in the database can be used. */
  readonly encryption: Encryption | undefined;
  readonly settings: RefreshSettings;
}

/**
 * Accounts and tokens are in the database. Without one, or without a key, tokens are in this process only, since they are
 * never kept as plain text. The connection stays the caller's.
 */
export function credentialStorage(
  { keys, settings }: CredentialConfig,
  { database }: { readonly database?: GatewayDatabase | undefined },
  clock: Clock,
): CredentialStorage {
  const encryption = keys.length === 0 ? undefined : new Encryption(keys);
  const table = database && new AccountTable(database, clock);
  const grants = database && encryption && new DatabaseGrantStore(database, encryption, clock);
  return { table, grants: grants ?? new MemoryGrantStore(), encryption, settings };
}

/** A gateway with the accounts of its database as they are now, for looking at: nothing is refreshed. Without the tables there are none. */
export async function withStoredAccounts(gateway: GatewayConfig, storage: CredentialStorage): Promise<GatewayConfig> {
  const directory = new AccountDirectory(gateway, storage);
  await directory.read().catch(() => undefined);
  return directory.gateway;
}
