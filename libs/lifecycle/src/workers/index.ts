export { runWorker } from './run-worker.ts';
export { createWorkerPool } from './worker-pool.ts';
