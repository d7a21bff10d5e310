import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

export interface CheckpointWork {
  readonly path: string;
  readonly intervalMs: number;
}

const { path, intervalMs }: CheckpointWork = workerData;
const database = new DatabaseSync(path);

// Passive: it never keeps a commit waiting. With nothing to copy it does not touch the disk.
const timer = setInterval(() => database.exec('PRAGMA wal_checkpoint(PASSIVE)'), intervalMs);

parentPort?.once('message', () => {
  clearInterval(timer);
  database.close();
});
