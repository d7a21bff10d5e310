import { runService } from '@gateway/lifecycle/run-service';
import { createPoolBrokerFromEnvironment } from './service.ts';

await runService('pool-broker', createPoolBrokerFromEnvironment);
