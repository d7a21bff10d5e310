import { runService } from '@gateway/lifecycle/run-service';
import { createTokenText } from '@gateway/tokens';
import { readAdminProcessConfig } from './config.ts';
import { createAdminFromEnvironment } from './service.ts';

if (process.argv[2] === '--new-token') {
  // For ADMIN_TOKEN: nobody can sign in yet to make one.
  process.stdout.write(`${createTokenText('operator')}\n`);
} else {
  await runService('admin', createAdminFromEnvironment, {
    settings: readAdminProcessConfig,
    backends: ['DATABASE_URL'],
    // It serves no RPCs to other services: all it has is on ADMIN_PORT.
    port: {},
  });
}
