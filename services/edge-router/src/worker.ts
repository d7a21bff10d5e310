import { readProcessConfig } from '@gateway/lifecycle';
import { runWorker } from '@gateway/lifecycle/run-worker';
import { openTls } from '@gateway/lifecycle/transport';
import { createEdgeRouterFromEnvironment } from './service.ts';

/** One of several sibling processes that share the public port. */
const { logLevel, drainTimeoutMs } = readProcessConfig(process.env);

await runWorker({ name: 'edge-router', logLevel, drainTimeoutMs }, async (runtime, stack) => {
  const tls = stack.use(await openTls(process.env, runtime.logger));
  return createEdgeRouterFromEnvironment(process.env, { ...runtime, tls });
});
