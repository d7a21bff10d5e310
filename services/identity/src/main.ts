import { runService } from '@gateway/lifecycle/run-service';
import { readIdentityProcessConfig } from './config.ts';
import { createIdentityFromEnvironment } from './service.ts';

await runService('identity', createIdentityFromEnvironment, {
  settings: readIdentityProcessConfig,
  backends: ['DATABASE_URL'],
});
