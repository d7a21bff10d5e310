import { sql, type Transaction } from 'kysely';
import type { Database, GatewayDatabase } from '../schema.ts';

/** A lock that a transaction has until its end. */
export interface AdvisoryLock {
  /** @throws when the transaction, and the lock with it, is lost. */
  confirm(): Promise<void>;
}

/**
 * Does work while a transaction of its own has a lock of Postgres, by name; gives undefined at once when another transaction has it.
 * Locks of sessions would be left behind in a pooler that shares sessions. The work uses other connections, so that it may consist of
 * several transactions. Fails when the lock was lost meanwhile.
 */
export async function tryWithAdvisoryLock<T>(
  database: GatewayDatabase,
  name: string,
  work: (lock: AdvisoryLock) => Promise<T>,
): Promise<T | undefined> {
  return await database.transaction().execute(async (transaction) => {
    const locking = sql<{ locked: boolean }>`select pg_try_advisory_xact_lock(${keyOf(name)}) as locked`;
    const { rows } = await locking.execute(transaction);
    return rows[0]?.locked === true ? await runLocked(transaction, work) : undefined;
  });
}

/** The same, but waits for the lock. */
export async function withAdvisoryLock<T>(database: GatewayDatabase, name: string, work: () => Promise<T>): Promise<T> {
  return await database.transaction().execute(async (transaction) => {
    await lockForTransaction(transaction, name);
    return await runLocked(transaction, work);
  });
}

/** Takes the lock for the rest of a transaction. */
export async function lockForTransaction(transaction: Transaction<Database>, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${keyOf(name)})`.execute(transaction);
}

/** The work may take longer than a transaction is else idle; one whose process is gone gives the lock up after an hour. */
async function runLocked<T>(transaction: Transaction<Database>, work: (lock: AdvisoryLock) => Promise<T>): Promise<T> {
  await sql`set local idle_in_transaction_session_timeout = '1h'`.execute(transaction);
  const confirm = async () => void (await sql`select 1`.execute(transaction));
  const done = await work({ confirm });
  await confirm();
  return done;
}

/** Advisory locks have numbers, and belong to one database. */
function keyOf(name: string) {
  return sql`hashtextextended(${`gateway ${name}`}, 0)`;
}
