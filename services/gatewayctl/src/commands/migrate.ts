import type { Environment } from '@gateway/config';
import { Command } from 'commander';

/** `gatewayctl migrate` */
export function migrateCommand(env: Environment): Command {
  return new Command('migrate')
    .description('Bring the tables up to date: those of DATABASE_URL, or of the embedded database in GATEWAY_DATA.')
    .action(async () => {
      const { openGatewayDatabase } = await import('@gateway/all-in-one/gateway-database');
      const { migrate } = await import('@gateway/database');
      await using database = await openGatewayDatabase(env);
      const applied = await migrate(database.handle);
      for (const name of applied) process.stderr.write(`applied ${name}\n`);
      process.stderr.write(`${database.description} is up to date\n`);
    });
}
