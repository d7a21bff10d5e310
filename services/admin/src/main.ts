import { runService } from '@gateway/lifecycle/run-service';
import { createTokenText } from '@gateway/tokens';
import { readAdminProcessConfig } from './config.ts';
import { createAdminFromEnvironment } from './service.ts';

if (process.argv[2] === '--new-token') {
  // For ADMIN_TOKEN: before the first operator exists, only this command can make one.
  process.stdout.write(`${createTokenText('operator')}\n`);
} else {
  await runService('admin', createAdminFromEnvironment, {
    settings: readAdminProcessConfig,
    backends: ['DATABASE_URL'],
    // It serves no RPCs to other services: its only port is ADMIN_PORT.
    port: {},
  });
}
