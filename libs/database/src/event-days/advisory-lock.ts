import { sql, type Transaction } from 'kysely';
import type { Database, GatewayDatabase } from '../schema/database.ts';

/** A lock that a transaction holds until its end. */
export interface HeldLock {
  /** @throws when the transaction, and the lock with it, is lost. */
  confirm(): Promise<void>;
}

/**
 * Does work while a transaction of its own holds a lock of Postgres, by name. Locks of sessions would be left behind in a pooler
 * that shares sessions. The work uses other connections, so that it may consist of several transactions. Fails when the lock
 * was lost meanwhile.
 */
export async function holdingLock<T>(
  database: GatewayDatabase,
  name: string,
  work: (lock: HeldLock) => Promise<T>,
): Promise<T> {
  return await database.transaction().execute(async (holder) => {
    await untilTransactionEnds(holder, name);
    return await whileHeld(holder, work);
  });
}

/** The same, but gives undefined at once when another transaction holds the lock. */
export async function tryHoldingLock<T>(
  database: GatewayDatabase,
  name: string,
  work: (lock: HeldLock) => Promise<T>,
): Promise<T | undefined> {
  return await database.transaction().execute(async (holder) => {
    const { rows } = await sql<{ held: boolean }>`select pg_try_advisory_xact_lock(${keyOf(name)}) as held`.execute(
      holder,
    );
    return rows[0]?.held === true ? await whileHeld(holder, work) : undefined;
  });
}

/** Takes the lock for the rest of a transaction. */
export async function untilTransactionEnds(transaction: Transaction<Database>, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${keyOf(name)})`.execute(transaction);
}

/** The work may take longer than a transaction is else idle; one whose process is gone gives the lock up after an hour. */
async function whileHeld<T>(holder: Transaction<Database>, work: (lock: HeldLock) => Promise<T>): Promise<T> {
  await sql`set local idle_in_transaction_session_timeout = '1h'`.execute(holder);
  const confirm = async () => {
    await sql`select 1`.execute(holder);
  };
  const done = await work({ confirm });
  await confirm();
  return done;
}

/** Advisory locks have numbers, and belong to one database. */
function keyOf(name: string) {
  return sql`hashtextextended(${`gateway ${name}`}, 0)`;
}
