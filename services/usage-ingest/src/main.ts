import { runService } from '@gateway/lifecycle/run-service';
import { readUsageIngestProcessConfig } from './config.ts';
import { createUsageIngestFromEnvironment } from './service.ts';

await runService('usage-ingest', createUsageIngestFromEnvironment, {
  settings: readUsageIngestProcessConfig,
  backends: ['DATABASE_URL', 'NATS_URL'],
});
