import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLTagStore, type StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { makePrivateDatabase } from '@gateway/config';
import { databaseOperations, errorTypeOf, type Metrics } from '@gateway/telemetry';
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
  const driver = new WriteFirstDriver(path, checkpointMs, metrics);
  const database = new Kysely<Database>({
    ...(metrics && { log: measureQueries(metrics, 'sqlite') }),
    dialect: {
      createDriver: () => driver,
      createAdapter: () => new TransactionalDdlAdapter(),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createIntrospector: (introspected) => new SqliteIntrospector(introspected),
    },
  });
  drivers.set(database, driver);
  return database;
}

/**
 * Writes to a database of `openSqlite` in one transaction of prepared statements, which nothing comes between: for what every
 * request writes. Building such statements each time costs more than running them.
 */
export async function writeToSqlite<T>(database: GatewayDatabase, write: (sql: SQLTagStore) => T): Promise<T> {
  const driver = drivers.get(database);
  if (driver === undefined) throw new Error('The database was not opened as one of SQLite.');
  // Nothing comes between the statements of one turn.
  if (!driver.isInTransaction) return driver.write(write);
  // There is one connection: having it keeps other transactions out.
  return await database.connection().execute(async () => driver.write(write));
}

const drivers = new WeakMap<GatewayDatabase, WriteFirstDriver>();

/** 64 MiB: from here on commits do checkpoints all the same, should the thread not keep up, or have ended. */
const maxLogPages = 16_384;

/**
 * Takes the write lock when a transaction begins. A transaction that first read and then wanted to write would fail
 * at once when another process had written in between; this one waits instead.
 */
class WriteFirstDriver extends SqliteDriver {
  readonly #checkpoints = new AsyncDisposableStack();
  readonly #measure: ReturnType<typeof databaseOperations> | undefined;
  #file: DatabaseSync | undefined;
  #sql: SQLTagStore | undefined;

  constructor(path: string, checkpointMs: number | undefined, metrics: Metrics | undefined) {
    super({
      database: async () => {
        this.#file = openDatabaseFile(path, checkpointMs === undefined ? defaultLogPages : maxLogPages);
        if (checkpointMs !== undefined) this.#checkpoints.defer(startCheckpoints(path, checkpointMs));
        return toSqliteDatabase(this.#file);
      },
    });
    this.#measure = metrics && databaseOperations(metrics, 'sqlite');
  }

  /** Whether somebody who has the connection is amid a transaction. Also true until there is a connection. */
  get isInTransaction(): boolean {
    return this.#file?.isTransaction ?? true;
  }

  /** One transaction, of which nothing stays when `write` throws. Not amid another one. */
  write<T>(write: (sql: SQLTagStore) => T): T {
    const file = this.#file;
    if (file === undefined) throw new Error('The database is not open.');
    this.#sql ??= file.createTagStore(maxPreparedStatements);
    const startMs = performance.now();
    let errorType = '';
    try {
      file.exec('begin immediate');
      const written = write(this.#sql);
      file.exec('commit');
      return written;
    } catch (thrown) {
      errorType = errorTypeOf(thrown);
      if (file.isTransaction) file.exec('rollback');
      throw thrown;
    } finally {
      this.#measure?.({ name: 'insert', seconds: (performance.now() - startMs) / 1_000, errorType });
    }
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

/** Opens a database file, with its folder. Only its user can read it. */
function openDatabaseFile(path: string, logPages: number): DatabaseSync {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    makePrivateDatabase(path);
  }
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${logPages};`);
  return database;
}

/** In the form that Kysely's SQLite driver works with. */
function toSqliteDatabase(database: DatabaseSync): SqliteDatabase {
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
