import { runService } from '@gateway/lifecycle/run-service';
import { readStandAloneLimiterConfig } from './config.ts';
import { createLimiterFromEnvironment } from './service.ts';

await runService('limiter', createLimiterFromEnvironment, {
  settings: readStandAloneLimiterConfig,
  backends: ['REDIS_URL'],
});
