import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  type QueryCompiler,
  SqliteAdapter,
  type SqliteDialectConfig,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';
import { Checkpoints } from './checkpoints.ts';
import { openDatabaseFile } from './database-file.ts';

/** Kysely over the SQLite that is part of Node. */
export class NodeSqliteDialect implements Dialect {
  readonly #path: string;
  readonly #checkpointMs: number | undefined;

  /** @param checkpointMs how often a thread does a checkpoint; undefined: commits do them. */
  constructor(path: string, checkpointMs?: number) {
    this.#path = path;
    this.#checkpointMs = checkpointMs;
  }

  createDriver(): Driver {
    const [path, checkpointMs] = [this.#path, this.#checkpointMs];
    if (checkpointMs === undefined) return new WriteFirstDriver({ database: async () => openDatabaseFile(path) });
    const checkpoints = new AsyncDisposableStack();
    const database = async () => {
      const file = openDatabaseFile(path, maxLogPages);
      checkpoints.use(new Checkpoints(path, checkpointMs));
      return file;
    };
    return new WriteFirstDriver({ database }, checkpoints);
  }

  createAdapter(): DialectAdapter {
    return new TransactionalDdlAdapter();
  }

  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler();
  }

  createIntrospector(database: Kysely<never>): DatabaseIntrospector {
    return new SqliteIntrospector(database);
  }
}

/** 64 MiB: from here on commits do checkpoints all the same, should the thread not keep up, or have ended. */
const maxLogPages = 16_384;

/**
 * Takes the write lock when a transaction begins. A transaction that first read and then wanted to write would fail
 * at once when another process had written in between; this one waits its turn instead.
 */
class WriteFirstDriver extends SqliteDriver {
  readonly #checkpoints: AsyncDisposable | undefined;

  constructor(config: SqliteDialectConfig, checkpoints?: AsyncDisposable) {
    super(config);
    this.#checkpoints = checkpoints;
  }

  override async destroy(): Promise<void> {
    await this.#checkpoints?.[Symbol.asyncDispose]();
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
