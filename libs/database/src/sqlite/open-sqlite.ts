import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { makePrivateDatabase } from '@gateway/config';
import type { Metrics } from '@gateway/telemetry';
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  type TransactionSettings,
} from 'kysely';
import { measureQueries } from '../query-metrics.ts';
import type { Database, GatewayDatabase } from '../schema.ts';
import type { CheckpointWork } from './checkpoint-thread.ts';

export interface SqliteOptions {
  /** A thread does the checkpoints, so often; without it commits do them. For a process whose loop must not wait for the disk. */
  readonly checkpointMs?: number | undefined;
  /** Where statements are measured. Default: nowhere. */
  readonly metrics?: Metrics | undefined;
}

/**
 * The database in a file, made with its folder when absent; ":memory:" for one that ends with the process. The file
 * is opened by the first query. A commit survives the end of the process; the last ones may not survive a power cut.
 */
export function openSqlite(path: string, { checkpointMs, metrics }: SqliteOptions = {}): GatewayDatabase {
  return new Kysely<Database>({
    ...(metrics && { log: measureQueries(metrics, 'sqlite') }),
    dialect: {
      createDriver: () => new WriteFirstDriver(path, checkpointMs),
      createAdapter: () => new TransactionalDdlAdapter(),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createIntrospector: (database) => new SqliteIntrospector(database),
    },
  });
}

/** 64 MiB: from here on commits do checkpoints all the same, should the thread not keep up, or have ended. */
const maxLogPages = 16_384;

/**
 * Takes the write lock when a transaction begins. A transaction that first read and then wanted to write would fail
 * at once when another process had written in between; this one waits instead.
 */
class WriteFirstDriver extends SqliteDriver {
  readonly #checkpoints = new AsyncDisposableStack();

  constructor(path: string, checkpointMs: number | undefined) {
    super({
      database: async () => {
        const file = openDatabaseFile(path, checkpointMs === undefined ? defaultLogPages : maxLogPages);
        if (checkpointMs !== undefined) this.#checkpoints.defer(startCheckpoints(path, checkpointMs));
        return file;
      },
    });
  }

  override async destroy(): Promise<void> {
    await this.#checkpoints.disposeAsync();
    await super.destroy();
  }

  override async beginTransaction(connection: DatabaseConnection, settings?: TransactionSettings): Promise<void> {
    const begin = settings?.accessMode === 'read only' ? 'begin' : 'begin immediate';
    await connection.executeQuery(CompiledQuery.raw(begin));
  }
}

/** Migrations run in one transaction, whose write lock keeps other processes out. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/**
 * Copies what was committed from the write-ahead log into the database file, in a thread of its own: a checkpoint waits
 * for the disk, some ten milliseconds and more, in which the thread that commits would answer no request.
 */
function startCheckpoints(path: string, intervalMs: number): () => Promise<void> {
  const workerData: CheckpointWork = { path, intervalMs };
  const worker = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), { workerData });
  worker.unref();
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  // Commits do checkpoints again when the log has grown too far: see `maxLogPages`.
  worker.on('error', () => undefined);
  // The thread has closed the file when this resolves.
  return () => {
    worker.ref();
    worker.postMessage('end');
    return ended;
  };
}

/** How long a statement waits for another process to release the file. */
const busyTimeoutMs = 2_000;
/** Statements kept in prepared form; beyond it all are dropped. */
const maxPreparedStatements = 256;
/** The log that commits leave before one of them does a checkpoint; SQLite's own default. */
const defaultLogPages = 1_000;

/** Opens a database file, with its folder, in the form that Kysely's SQLite driver works with. Only its user can read it. */
function openDatabaseFile(path: string, logPages: number): SqliteDatabase {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    makePrivateDatabase(path);
  }
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${logPages};`);
  const prepared = new Map<string, SqliteStatement>();
  const prepare = (text: string): SqliteStatement => {
    if (prepared.size >= maxPreparedStatements) prepared.clear();
    return prepared.getOrInsertComputed(text, () => toSqliteStatement(database.prepare(text)));
  };
  return { prepare, close: () => database.close() };
}

function toSqliteStatement(statement: StatementSync): SqliteStatement {
  // SQLite itself refuses what it can't bind.
  const inputs = (parameters: readonly unknown[]) => parameters as readonly SQLInputValue[];
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...inputs(parameters)),
    run: (parameters) => statement.run(...inputs(parameters)),
    iterate: (parameters) => statement.iterate(...inputs(parameters)),
  };
}
