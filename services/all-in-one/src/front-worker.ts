import { runWorker } from '@gateway/lifecycle/run-worker';
import { openChannel } from '@gateway/rpc/grpc';
import { readAllInOneConfig } from './config.ts';
import { createFront } from './front.ts';

const config = readAllInOneConfig(process.env);
const { logLevel, drainTimeoutMs } = config;
const [, , address = ''] = process.argv;

await runWorker({ name: 'The gateway', service: 'gateway', logLevel, drainTimeoutMs }, (runtime, stack) => {
  const primary = stack.use(openChannel(address, { metrics: runtime.metrics }));
  return createFront(process.env, (service) => primary.client(service), config, runtime);
});
