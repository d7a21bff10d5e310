import { runService } from '@gateway/lifecycle/run-service';
import { createUsageIngestFromEnvironment } from './service.ts';

await runService('usage-ingest', createUsageIngestFromEnvironment);
