import { runService } from '@gateway/lifecycle/run-service';
import { createLimiterFromEnvironment } from './service.ts';

await runService('limiter', createLimiterFromEnvironment);
