import { fileURLToPath } from 'node:url';
import { checkAll, type Environment, EnvReader, openFolder } from '@gateway/config';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { runService } from '@gateway/lifecycle/run-service';
import { createWorkerPool } from '@gateway/lifecycle/worker-pool';
import { readEdgeRouterConfig, readEdgeRouterPeerUrls, readEdgeWorkers } from './config.ts';

await runService('edge-router', createEdge, {
  settings: checkSettings,
  backends: ['NATS_URL'],
  port: { PORT: 8080 },
});

async function checkSettings(env: Environment): Promise<void> {
  const data = new EnvReader(env).string('GATEWAY_DATA', './data');
  await checkAll([
    () => readEdgeRouterConfig(env),
    () => readEdgeRouterPeerUrls(env),
    () => readEdgeWorkers(env),
    () => openFolder('GATEWAY_DATA', data),
  ]);
}

/**
 * The edge in this process or, with several workers, in child processes that this one supervises.
 */
async function createEdge(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const count = readEdgeWorkers(env);
  if (count === 1) {
    const { createEdgeRouterFromEnvironment } = await import('./service.ts');
    return createEdgeRouterFromEnvironment(env, runtime);
  }
  const { host, port, outboxFolder } = readEdgeRouterConfig(env);
  const program = fileURLToPath(new URL('./worker.ts', import.meta.url));
  const pool = await createWorkerPool({ program, count, host, port }, runtime);
  return Object.assign(pool, { dataFolder: outboxFolder });
}
