import { random, sleep } from '@gateway/time';
import { PostgresAdapter, type QueryExecutor } from 'kysely';

/** Whether a database is Postgres, where SQLite needs another statement. */
export function isPostgres(database: { getExecutor(): QueryExecutor }): boolean {
  return database.getExecutor().adapter instanceof PostgresAdapter;
}

/**
 * Runs a transaction, and repeats it when Postgres aborts it because of a conflict with another one
 * (deadlock, serialisation). `transaction` must be the whole transaction: an aborted one leaves
 * nothing behind.
 */
export async function withSerializationRetry<T>(transaction: () => Promise<T>, attempts = 5): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction();
    } catch (thrown) {
      // serialization_failure, deadlock_detected
      const isConflict = ['40001', '40P01'].includes(sqlStateOf(thrown));
      if (attempt >= attempts || !isConflict) throw thrown;
      await sleep(random() * 10 * 2 ** attempt);
    }
  }
}

/**
 * True when the database rejected the data itself, so that a retry can't help: out of range, not
 * text, against a constraint. False for everything that may pass: no connection, no space, a lock,
 * a missing table.
 */
export function isRefusedData(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if ('errcode' in thrown) return typeof thrown.errcode === 'number' && sqliteRefusals.has(thrown.errcode & 0xff);
  return /^(22|23)[0-9A-Z]{3}$/.test(sqlStateOf(thrown)) && !isMissingPartition(thrown);
}

/** True when Postgres has no partition for a row; the caller can create one. */
export function isMissingPartition(thrown: unknown): boolean {
  // The error has the code of a violated check constraint; only the server routine that raised it
  // tells the two apart.
  const routine = thrown instanceof Error && 'routine' in thrown ? thrown.routine : undefined;
  return sqlStateOf(thrown) === '23514' && routine === 'ExecFindPartition';
}

/** SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH. @see https://www.sqlite.org/rescode.html */
const sqliteRefusals: ReadonlySet<number> = new Set([18, 19, 20]);

function sqlStateOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
}
