import type { Environment } from '@gateway/config';
import { pendingMigrations } from '@gateway/database';
import { AccountTable } from '@gateway/pool-broker/credentials/account-table';
import { systemClock } from '@gateway/time';
import { openGatewayDatabase } from './gateway-database.ts';

/** Whether operators keep provider accounts in the gateway's database. Tables that were not made yet hold none. */
export async function hasStoredAccounts(env: Environment): Promise<boolean> {
  await using database = await openGatewayDatabase(env);
  if ((await pendingMigrations(database.handle)).length > 0) return false;
  return (await new AccountTable(database.handle, systemClock).list()).length > 0;
}
