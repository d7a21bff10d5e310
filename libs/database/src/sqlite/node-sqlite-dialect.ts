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
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';
import { openDatabaseFile } from './database-file.ts';

/** Kysely over the SQLite that is part of Node. */
export class NodeSqliteDialect implements Dialect {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  createDriver(): Driver {
    return new WriteFirstDriver({ database: async () => openDatabaseFile(this.#path) });
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

/**
 * Takes the write lock when a transaction begins. A transaction that first read and then wanted to write would fail
 * at once when another process had written in between; this one waits its turn instead.
 */
class WriteFirstDriver extends SqliteDriver {
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
