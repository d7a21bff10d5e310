import { plainLimiter } from '@gateway/edge-router/admission/admit';
import { runWorker } from '@gateway/lifecycle/run-worker';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { openChannel } from '@gateway/rpc/grpc';
import { readAllInOneConfig } from './config.ts';
import { createFront } from './front.ts';

const { logLevel, drainTimeoutMs } = readAllInOneConfig(process.env);
const [, , address = ''] = process.argv;

await runWorker({ name: 'The gateway', service: 'gateway', logLevel, drainTimeoutMs }, (runtime, stack) => {
  const primary = stack.use(openChannel(address, { metrics: runtime.metrics }));
  const limiter = plainLimiter(primary.client(LimiterService));
  return createFront(process.env, (service) => primary.client(service), limiter, runtime);
});
