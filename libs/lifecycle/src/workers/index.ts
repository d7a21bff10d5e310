export { runWorker } from './run-worker.ts';
export type { ListeningService, WorkerPoolOptions } from './worker-pool.ts';
export { createWorkerPool } from './worker-pool.ts';
