import { fileURLToPath } from 'node:url';
import type { Environment } from '@gateway/config';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { runService } from '@gateway/lifecycle/run-service';
import { readEdgeWorkers } from './config.ts';

await runService('edge-router', createEdge);

/** The edge in this process; with several workers, in processes of their own, which this one looks after. */
async function createEdge(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const count = readEdgeWorkers(env);
  if (count === 1) {
    const { createEdgeRouterFromEnvironment } = await import('./service.ts');
    return createEdgeRouterFromEnvironment(env, runtime);
  }
  const { createEdgeWorkers } = await import('./workers/edge-workers.ts');
  const program = fileURLToPath(new URL('./workers/main.ts', import.meta.url));
  return createEdgeWorkers({ program, count }, runtime);
}
