import { openGatewayDatabase } from '@gateway/all-in-one/gateway-database';
import { ConfigError, type Environment, EnvReader } from '@gateway/config';
import { type GatewayDatabase, migrate, pendingMigrations } from '@gateway/database';
import { AccountTable } from '@gateway/pool-broker/credentials/account-table';

/** The accounts in the gateway's database. They are reached there and nowhere else, so that no secret travels to a service. */
export interface StoredAccounts extends AsyncDisposable {
  readonly database: GatewayDatabase;
  readonly table: AccountTable;
}

/** @throws ConfigError when it is not clear which database is meant, or it is not up to date. */
export async function openStoredAccounts(env: Environment): Promise<StoredAccounts> {
  if (!knowsTheDatabase(env)) throw new ConfigError([whichDatabase]);
  const { handle: database, ...opened } = await openCurrentDatabase(env);
  return { ...opened, database, table: new AccountTable(database) };
}

/** The gateway's database, with its tables up to date. @throws ConfigError when a shared one is not. */
export async function openCurrentDatabase(env: Environment) {
  const opened = await openGatewayDatabase(env);
  const { handle, kind, description } = opened;
  if (kind === 'embedded') await migrate(handle);
  else if ((await pendingMigrations(handle)).length > 0) {
    await opened[Symbol.asyncDispose]();
    throw new ConfigError([`${description} is not up to date. Run gatewayctl migrate first.`]);
  }
  return opened;
}

/** A gateway that is named by its address may run on another machine, with another database. */
export function knowsTheDatabase(env: Environment): boolean {
  const reader = new EnvReader(env);
  const isNamed = (name: string) => reader.optional(name) !== undefined;
  return isNamed('DATABASE_URL') || isNamed('GATEWAY_DATA') || !isNamed('GATEWAY_ADMIN_URL');
}

const whichDatabase =
  "Accounts are changed in the gateway's database, not by way of GATEWAY_ADMIN_URL. Set DATABASE_URL to its database too (or GATEWAY_DATA to its folder).";
