import { type Kysely, sql, type Transaction } from 'kysely';
import type { Database } from '../schema/database.ts';

/**
 * Runs work while this connection alone holds a lock of Postgres, by name. A connection that breaks gives it up.
 * The database must be a single connection.
 */
export async function holdingLock<T>(connection: Kysely<Database>, name: string, work: () => Promise<T>): Promise<T> {
  await sql`select pg_advisory_lock(${keyOf(name)})`.execute(connection);
  return await releasingLock(connection, name, work);
}

/** The same, but gives undefined at once when another connection holds the lock. */
export async function tryHoldingLock<T>(
  connection: Kysely<Database>,
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const { rows } = await sql<{ held: boolean }>`select pg_try_advisory_lock(${keyOf(name)}) as held`.execute(
    connection,
  );
  return rows[0]?.held === true ? await releasingLock(connection, name, work) : undefined;
}

/** Takes the lock for the rest of a transaction. */
export async function untilTransactionEnds(transaction: Transaction<Database>, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${keyOf(name)})`.execute(transaction);
}

async function releasingLock<T>(connection: Kysely<Database>, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await sql`select pg_advisory_unlock(${keyOf(name)})`.execute(connection);
  }
}

/** Advisory locks have numbers, and belong to one database. */
function keyOf(name: string) {
  return sql`hashtextextended(${`gateway ${name}`}, 0)`;
}
