export type { ListeningService, PrimaryProcess, WorkerOptions } from './run-worker.ts';
export { runWorker } from './run-worker.ts';
export type { WorkerPoolOptions } from './worker-pool.ts';
export { WorkerPool } from './worker-pool.ts';
