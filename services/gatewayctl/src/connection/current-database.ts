import { openGatewayDatabase } from '@gateway/all-in-one/gateway-database';
import { ConfigError, type Environment } from '@gateway/config';
import { migrate, pendingMigrations } from '@gateway/database';

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
