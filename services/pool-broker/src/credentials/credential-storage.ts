import { createSecretKey, randomBytes } from 'node:crypto';
import type { GatewayDatabase } from '@gateway/database';
import type { Clock } from '@gateway/time';
import type { Redis } from 'ioredis';
import type { CredentialConfig, RefreshSettings } from './credential-config.ts';
import { DatabaseGrantStore } from './grants/database-grant-store.ts';
import type { GrantStore } from './grants/grant-store.ts';
import { MemoryGrantStore } from './grants/memory-grant-store.ts';
import { RedisGrantStore } from './grants/redis-grant-store.ts';
import { DatabaseRefreshLock } from './refresh-lock/database-refresh-lock.ts';
import { MemoryRefreshLock } from './refresh-lock/memory-refresh-lock.ts';
import { RedisRefreshLock } from './refresh-lock/redis-refresh-lock.ts';
import type { RefreshLock } from './refresh-lock/refresh-lock.ts';
import { Sealer } from './sealing/sealer.ts';
import { AccountTable } from './stored-accounts/account-table.ts';

/** Where credentials are kept, and who may refresh them. */
export interface CredentialStorage {
  /** Undefined: there is no database. */
  readonly table: AccountTable | undefined;
  readonly grants: GrantStore;
  readonly lock: RefreshLock;
  /** Opens and seals what is in `grants`. */
  readonly grantSealer: Sealer;
  /** Opens what is in `table`. Undefined: there is no key. */
  readonly accountSealer: Sealer | undefined;
  /** Where rotated refresh tokens are: what a restart leaves of them. */
  readonly grantsIn: 'database' | 'redis' | 'memory';
  readonly settings: RefreshSettings;
}

export interface StorageBackends {
  readonly redis?: Redis | undefined;
  readonly database?: GatewayDatabase | undefined;
  /** Before every key in Redis. */
  readonly keyPrefix?: string | undefined;
}

/**
 * Tokens are in the database, else in Redis; without a key nowhere but in this process, since they are never kept unsealed. One
 * replica at a time refreshes by a lock in Redis, else in the database. The connections stay the caller's.
 */
export function credentialStorage(
  { keys, settings }: CredentialConfig,
  { redis, database, keyPrefix }: StorageBackends,
  clock: Clock,
): CredentialStorage {
  const accountSealer = keys.length === 0 ? undefined : new Sealer(keys);
  const table = database === undefined ? undefined : new AccountTable(database, clock);
  const rest = { table, accountSealer, settings, lock: lockOf({ redis, database, keyPrefix }, clock) };
  if (accountSealer !== undefined && database !== undefined) {
    const grants = new DatabaseGrantStore(database, clock);
    return { ...rest, grants, grantSealer: accountSealer, grantsIn: 'database' };
  }
  if (accountSealer !== undefined && redis !== undefined) {
    return { ...rest, grants: new RedisGrantStore(redis, keyPrefix), grantSealer: accountSealer, grantsIn: 'redis' };
  }
  return { ...rest, grants: new MemoryGrantStore(), grantSealer: sealerOfThisProcess(), grantsIn: 'memory' };
}

function lockOf({ redis, database, keyPrefix }: StorageBackends, clock: Clock): RefreshLock {
  if (redis !== undefined) return new RedisRefreshLock(redis, keyPrefix);
  return database === undefined ? new MemoryRefreshLock(clock) : new DatabaseRefreshLock(database, clock);
}

/** What it seals opens nowhere else, and never again. */
function sealerOfThisProcess(): Sealer {
  return new Sealer([{ id: 'process', key: createSecretKey(randomBytes(32)) }]);
}
