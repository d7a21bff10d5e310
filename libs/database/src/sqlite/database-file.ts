import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { makePrivateDatabase } from '@gateway/config';
import type { SqliteDatabase, SqliteStatement } from 'kysely';

/** How long a statement waits for another process to release the file. */
const busyTimeoutMs = 2_000;

/** Statements remembered in prepared form; beyond it all are forgotten. */
const maxPreparedStatements = 256;

/** Longer ones are lists of many rows, which hardly come back in the same length. */
const maxRememberedSqlLength = 4_096;

/** The log that commits leave before one of them does a checkpoint; SQLite's own default. */
const defaultLogPages = 1_000;

/** Opens a database file, with its folder, in the form that Kysely's SQLite driver works with. Only its user can read it. */
export function openDatabaseFile(path: string, logPages = defaultLogPages): SqliteDatabase {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    makePrivateDatabase(path);
  }
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
    all: (parameters) => statement.all(...checked(parameters)),
    run: (parameters) => statement.run(...checked(parameters)),
    iterate: (parameters) => statement.iterate(...checked(parameters)),
  };
}

/** The same parameters, known to be what SQLite takes: batches have many hundreds of them. */
function checked(parameters: readonly unknown[]): readonly SQLInputValue[] {
  if (areInputValues(parameters)) return parameters;
  const other = parameters.find((parameter) => !isInputValue(parameter));
  throw new TypeError(`SQLite takes no parameter of type ${typeof other} here`);
}

function areInputValues(parameters: readonly unknown[]): parameters is readonly SQLInputValue[] {
  return parameters.every(isInputValue);
}

/** The schema holds texts and numbers only; anything else is a mistake of ours. */
function isInputValue(parameter: unknown): parameter is SQLInputValue {
  return typeof parameter === 'string' || typeof parameter === 'number' || parameter === null;
}
