import { runService } from '@gateway/lifecycle/run-service';
import { readPoolBrokerConfig } from './config.ts';
import { createPoolBrokerFromEnvironment } from './service.ts';

await runService('pool-broker', createPoolBrokerFromEnvironment, {
  settings: readPoolBrokerConfig,
  backends: ['REDIS_URL', 'DATABASE_URL'],
  port: { GRPC_PORT: 50_051, CREDENTIAL_PORT: 50_052 },
});
