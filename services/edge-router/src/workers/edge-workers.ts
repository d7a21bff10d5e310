import type { ServiceRuntime } from '@gateway/lifecycle';
import { WorkerPool, type WorkerPoolOptions } from '@gateway/lifecycle/workers';
import type { EdgeRouterService } from '../service.ts';

/** The edge as several processes that share its port. Operators and clients see no difference to one. */
export function createEdgeWorkers(options: WorkerPoolOptions, runtime: ServiceRuntime): EdgeRouterService {
  let pool: WorkerPool | undefined;
  return {
    routes: [],
    get port() {
      return pool?.port ?? 0;
    },
    async start() {
      pool = await WorkerPool.start(options, runtime);
    },
    notReady: async () => (pool === undefined ? 'not listening yet' : pool.notReady),
    drain: async (timeoutMs) => pool?.drain(timeoutMs),
    [Symbol.asyncDispose]: async () => pool?.[Symbol.asyncDispose](),
  };
}
