import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';

/** How long a statement waits for another process to release the file. */
const busyTimeoutMs = 2_000;

/** Statements remembered in prepared form; beyond it all are forgotten. */
const maxPreparedStatements = 256;

/** Longer ones are lists of many rows, which hardly come back in the same length. */
const maxRememberedSqlLength = 4_096;

/** The log that commits leave before one of them does a checkpoint; SQLite's own default. */
const defaultLogPages = 1_000;

/** Opens a database file, with its folder, in the form that Kysely's SQLite driver works with. */
export function openDatabaseFile(path: string, logPages = defaultLogPages): SqliteDatabase {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${logPages};`);
  const prepared = new Map<string, SqliteStatement>();

  const prepare = (sql: string): SqliteStatement => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const statement = toSqliteStatement(database.prepare(sql));
    if (sql.length > maxRememberedSqlLength) return statement;
    if (prepared.size >= maxPreparedStatements) prepared.clear();
    prepared.set(sql, statement);
    return statement;
  };

  return {
    prepare,
    close: () => {
      prepared.clear();
      database.close();
    },
  };
}

function toSqliteStatement(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...parameters.map(toInputValue)),
    run: (parameters) => statement.run(...parameters.map(toInputValue)),
    iterate: (parameters) => statement.iterate(...parameters.map(toInputValue)),
  };
}

/** A parameter as SQLite takes it. The schema holds texts and numbers only; anything else is a mistake of ours. */
function toInputValue(parameter: unknown): SQLInputValue {
  if (parameter === null || typeof parameter === 'string' || typeof parameter === 'number') return parameter;
  throw new TypeError(`SQLite takes no parameter of type ${typeof parameter} here`);
}
