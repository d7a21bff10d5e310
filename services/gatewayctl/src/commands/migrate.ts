import type { Environment } from '@gateway/config';
import { Command } from 'commander';

/** `gatewayctl migrate` */
export function migrateCommand(env: Environment): Command {
  return new Command('migrate')
    .description('Bring the tables up to date: those of DATABASE_URL, or of the embedded database in GATEWAY_DATA.')
    .action(async () => {
      const { migrateGatewayDatabase } = await import('@gateway/all-in-one/gateway-database');
      const { applied, description } = await migrateGatewayDatabase(env);
      for (const name of applied) process.stderr.write(`applied ${name}\n`);
      process.stderr.write(`${description} is up to date\n`);
    });
}
