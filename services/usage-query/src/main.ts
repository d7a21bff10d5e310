import { runService } from '@gateway/lifecycle/run-service';
import { readUsageQueryProcessConfig } from './config.ts';
import { createUsageQueryFromEnvironment } from './service.ts';

await runService('usage-query', createUsageQueryFromEnvironment, {
  settings: readUsageQueryProcessConfig,
  backends: ['DATABASE_URL', 'NATS_URL'],
});
