import { runService } from '@gateway/lifecycle/run-service';
import { createUsageQueryFromEnvironment } from './service.ts';

await runService('usage-query', createUsageQueryFromEnvironment);
