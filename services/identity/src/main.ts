import { runService } from '@gateway/lifecycle/run-service';
import { createIdentityFromEnvironment } from './service.ts';

await runService('identity', createIdentityFromEnvironment);
