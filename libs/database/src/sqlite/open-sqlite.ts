import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLTagStore, type StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { isDiskFull, makePrivateDatabase } from '@gateway/config';
import { databaseOperations, errorTypeOf, type Metrics } from '@gateway/telemetry';
import { monotonicMs } from '@gateway/time';
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
  /**
   * The interval at which a thread makes checkpoints; if undefined, commits make them. For a
   * process whose event loop must not wait for the disk.
   */
  readonly checkpointMs?: number | undefined;
  /** Where statements are measured. Default: nowhere. */
  readonly metrics?: Metrics | undefined;
}

/**
 * The database in a file, which is created with its folder if it does not exist; ":memory:" for a
 * database that ends with the process. The first query opens the file. Commits survive the end of
 * the process; the last ones may not survive a power failure.
 */
export function openSqlite(path: string, { checkpointMs, metrics }: SqliteOptions = {}): GatewayDatabase {
  const driver = new WriteLockDriver(path, checkpointMs, metrics);
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
 * Writes to a database of `openSqlite` in one transaction of prepared statements that nothing
 * interleaves with, for data that every request writes. Building such statements with Kysely each
 * time costs more than running them.
 */
export async function writeToSqlite<T>(database: GatewayDatabase, write: (sql: SQLTagStore) => T): Promise<T> {
  const driver = drivers.get(database);
  if (driver === undefined) throw new Error('The database was not opened by openSqlite.');
  // Nothing can interleave with the statements of one turn of the event loop.
  if (!driver.isInTransaction) return driver.write(write);
  // There is only one connection: holding it locks out other transactions.
  return await database.connection().execute(async () => driver.write(write));
}

const drivers = new WeakMap<GatewayDatabase, WriteLockDriver>();

/**
 * 64 MiB: at this size commits make checkpoints after all, in case the thread can't keep up or has
 * ended.
 */
const maxLogPages = 16_384;

/**
 * Takes the write lock when a transaction begins. A transaction that reads first and writes later
 * would fail at once if another process wrote in between; this one waits instead.
 */
class WriteLockDriver extends SqliteDriver {
  readonly #checkpoints = new AsyncDisposableStack();
  readonly #measure: ReturnType<typeof databaseOperations> | undefined;
  #file: DatabaseSync | undefined;
  #sql: SQLTagStore | undefined;

  constructor(path: string, checkpointMs: number | undefined, metrics: Metrics | undefined) {
    super({
      database: async () => {
        const { database, isAlone } = openDatabaseFile(
          path,
          checkpointMs === undefined ? defaultLogPages : maxLogPages,
        );
        this.#file = database;
        if (checkpointMs !== undefined && !isAlone) this.#checkpoints.defer(startCheckpoints(path, checkpointMs));
        return toSqliteDatabase(database);
      },
    });
    this.#measure = metrics && databaseOperations(metrics, 'sqlite');
  }

  /**
   * Whether the connection's holder is inside a transaction. Also true until there is a connection.
   */
  get isInTransaction(): boolean {
    return this.#file?.isTransaction ?? true;
  }

  /**
   * One transaction, which is rolled back when `write` throws. Must not be called inside another
   * one.
   */
  write<T>(write: (sql: SQLTagStore) => T): T {
    const file = this.#file;
    if (file === undefined) throw new Error('The database is not open.');
    this.#sql ??= file.createTagStore(maxPreparedStatements);
    const startMs = monotonicMs();
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
      this.#measure?.({ name: 'insert', seconds: (monotonicMs() - startMs) / 1_000, errorType });
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

/** Migrations run in one transaction, whose write lock locks out other processes. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/**
 * Copies commits from the write-ahead log into the database file in a thread of its own. A
 * checkpoint waits for the disk for ten milliseconds or more; in the thread that commits, this
 * would block all requests.
 */
function startCheckpoints(path: string, intervalMs: number): () => Promise<void> {
  const workerData: CheckpointWork = { path, intervalMs };
  const worker = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), { workerData });
  worker.unref();
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  // Commits make checkpoints again when the log grows too far: see `maxLogPages`.
  worker.on('error', () => undefined);
  // When this resolves, the thread has closed the file.
  return () => {
    worker.ref();
    worker.postMessage('end');
    return ended;
  };
}

/** How long a statement waits for another process to release the file. */
const busyTimeoutMs = 2_000;
/** How many prepared statements are cached; beyond it all are dropped. */
const maxPreparedStatements = 256;
/** The log size at which a commit makes a checkpoint: SQLite's default. */
const defaultLogPages = 1_000;

/**
 * Opens a database file and creates its folder. Only the process's user can read it. On a full disk
 * the file can be read, by this process alone, and written once there is room.
 */
function openDatabaseFile(path: string, logPages: number) {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    makePrivateDatabase(path);
  }
  const open = (isAlone: boolean, pages: number) => {
    const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
    try {
      // The index of the log is then in memory: for a file of its own there is no room.
      if (isAlone) database.exec('PRAGMA locking_mode = EXCLUSIVE;');
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${pages};`);
      // The first read opens the log.
      database.prepare('SELECT count(*) FROM sqlite_schema').get();
      return { database, isAlone };
    } catch (thrown) {
      database.close();
      throw thrown;
    }
  };
  try {
    return open(false, logPages);
  } catch (thrown) {
    if (!isDiskFull(thrown, dirname(path))) throw thrown;
    return open(true, defaultLogPages);
  }
}

/** Adapts the database to Kysely's SQLite driver. */
function toSqliteDatabase(database: DatabaseSync): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  const prepare = (text: string): SqliteStatement => {
    if (prepared.size >= maxPreparedStatements) prepared.clear();
    return prepared.getOrInsertComputed(text, () => toSqliteStatement(database.prepare(text)));
  };
  return { prepare, close: () => database.close() };
}

function toSqliteStatement(statement: StatementSync): SqliteStatement {
  // SQLite itself rejects values that it can't bind.
  const inputs = (parameters: readonly unknown[]) => parameters as readonly SQLInputValue[];
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...inputs(parameters)),
    run: (parameters) => statement.run(...inputs(parameters)),
    iterate: (parameters) => statement.iterate(...inputs(parameters)),
  };
}
