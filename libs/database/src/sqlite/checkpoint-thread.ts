import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

export interface CheckpointWork {
  readonly path: string;
  readonly intervalMs: number;
}

const { path, intervalMs }: CheckpointWork = workerData;
const database = new DatabaseSync(path);

// A passive checkpoint never blocks a commit. Without new data it does not access the disk.
const timer = setInterval(() => database.exec('PRAGMA wal_checkpoint(PASSIVE)'), intervalMs);

parentPort?.once('message', () => {
  clearInterval(timer);
  database.close();
});
