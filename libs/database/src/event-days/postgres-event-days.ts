import { monotonicMs, sleep } from '@gateway/time';
import { sql, type Transaction } from 'kysely';
import { isMissingPartition, withSerializationRetry } from '../dialect.ts';
import type { Database, GatewayDatabase } from '../schema.ts';
import type { EventDays, ReadThenChange, RemovedDays, TableByDay } from './event-days.ts';
import { EventDaysBusyError, firstKeptDay, raiseFirstKeptDay } from './event-days.ts';

/** Pause between two checks whether other work has finished. */
const pollMs = 50;

/**
 * In Postgres every day is a partition of its own: removing one costs the same whatever its size.
 */
export class PostgresEventDays implements EventDays {
  readonly #database: GatewayDatabase;
  readonly #table: TableByDay;
  readonly #patienceMs: number;

  /** @param patienceMs how long to wait for other work on the days. */
  constructor(database: GatewayDatabase, table: TableByDay = 'usage_events', patienceMs = 30_000) {
    this.#database = database;
    this.#table = table;
    this.#patienceMs = patienceMs;
  }

  async open(days: readonly string[]): Promise<void> {
    if ((await missingDays(this.#database, this.#table, days)).length === 0) return;
    await withSerializationRetry(() =>
      this.#withLayoutLock(async (transaction) => {
        const first = await firstKeptDay(transaction, this.#table);
        const missing = await missingDays(transaction, this.#table, days);
        for (const day of missing) if (day >= first) await createDayPartition(transaction, this.#table, day);
      }),
    );
  }

  async insertInto<T>(days: readonly string[], transaction: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await transaction();
      } catch (thrown) {
        if (attempt === 3 || !isMissingPartition(thrown)) throw thrown;
        await this.open(days);
      }
    }
  }

  async removeBefore(first: string, signal: AbortSignal): Promise<RemovedDays> {
    const database = this.#database;
    const removed = await this.#withCareLock(async () => {
      // Creating a partition reads the first day under the same lock: after this, no removed
      // partition is created again.
      await this.#withLayoutLock((transaction) => raiseFirstKeptDay(transaction, this.#table, first));
      const done: DayPartition[] = [];
      for (const partition of await dayPartitions(database, this.#table)) {
        if (signal.aborted || partition.day >= first) break;
        await this.#detach(partition);
        await sql`drop table ${sql.table(partition.name)}`.execute(database);
        done.push(partition);
      }
      return { days: done.length, events: done.reduce((sum, { events }) => sum + events, 0) };
    });
    return removed ?? { days: 0, events: 0 };
  }

  async withLock<T>({ read, change }: ReadThenChange<T>): Promise<T> {
    const giveUpAtMs = monotonicMs() + this.#patienceMs;
    const snapshot = this.#database.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
    while (true) {
      const done = await this.#withCareLock(async (transaction) => {
        const found = await snapshot.execute(read);
        await change(transaction, found);
        return { found };
      });
      if (done !== undefined) return done.found;
      if (monotonicMs() > giveUpAtMs) throw new EventDaysBusyError('another process is changing the days of events');
      await sleep(pollMs);
    }
  }

  /**
   * Runs work that must not run twice at once, nor while days are removed. It holds a lock of a
   * transaction, because a lock of a session would be left behind in a pooler that shares sessions.
   * Returns undefined at once when another process holds the lock. Fails when the lock is lost in
   * the meantime.
   */
  async #withCareLock<T>(work: (transaction: Transaction<Database>) => Promise<T>): Promise<T | undefined> {
    return await this.#database.transaction().execute(async (transaction) => {
      const key = lockKey(this.#table, 'care');
      const locking = sql<{ locked: boolean }>`select pg_try_advisory_xact_lock(${key}) as locked`;
      if ((await locking.execute(transaction)).rows[0]?.locked !== true) return undefined;
      await mayBeIdle(transaction);
      return await work(transaction);
    });
  }

  /**
   * Detaches a day's table concurrently, so that readers and writers of other days do not wait.
   * This can't run inside a transaction.
   */
  async #detach({ name, state }: DayPartition): Promise<void> {
    if (state === 'detached') return;
    const how = state === 'detaching' ? sql`finalize` : sql`concurrently`;
    const detaching = sql`alter table ${sql.table(this.#table)} detach partition ${sql.table(name)} ${how}`;
    await this.#withLayoutLock(async (transaction) => {
      await mayBeIdle(transaction);
      await detaching.execute(this.#database);
    });
  }

  /**
   * Runs work that changes the set of partitions. Adding rows to existing partitions needs no lock.
   */
  async #withLayoutLock<T>(work: (transaction: Transaction<Database>) => Promise<T>): Promise<T> {
    return await this.#database.transaction().execute(async (transaction) => {
      await sql`select pg_advisory_xact_lock(${lockKey(this.#table, 'layout')})`.execute(transaction);
      return await work(transaction);
    });
  }
}

/** The days that have no partition yet, each once. */
async function missingDays(database: GatewayDatabase, table: TableByDay, days: readonly string[]) {
  const partitions = await dayPartitions(database, table);
  const attached = partitions.filter(({ state }) => state === 'attached').map(({ day }) => day);
  return [...new Set(days).difference(new Set(attached))];
}

/** The table that holds one day of a partitioned table. */
interface DayPartition {
  readonly day: string;
  readonly name: string;
  /** Detaching takes two steps, and a process may end after either. */
  readonly state: 'attached' | 'detaching' | 'detached';
  /** The planner's estimate. */
  readonly events: number;
}

/** The tables of all days, oldest first. */
async function dayPartitions(database: GatewayDatabase, table: TableByDay): Promise<readonly DayPartition[]> {
  const { rows } = await sql<Omit<DayPartition, 'day'>>`
    select part.relname as name,
           cast(greatest(part.reltuples, 0) as bigint) as events,
           case when link.inhrelid is null then 'detached'
                when link.inhdetachpending then 'detaching'
                else 'attached' end as state
    from pg_class whole
    join pg_class part on part.relnamespace = whole.relnamespace and part.relkind = 'r'
    left join pg_inherits link on link.inhrelid = part.oid and link.inhparent = whole.oid
    where whole.oid = to_regclass(${table})
      and part.relname ~ ${`^${table}_[0-9]{4}_[0-9]{2}_[0-9]{2}$`}
    order by part.relname`.execute(database);
  return rows.map((row) => ({ ...row, day: row.name.slice(table.length + 1).replaceAll('_', '-') }));
}

/**
 * Creates the table of one day. It is created on its own and then attached: creating it as a
 * partition would lock out readers and writers of all days until the transaction ends.
 */
async function createDayPartition(transaction: Transaction<Database>, table: TableByDay, day: string): Promise<void> {
  const [whole, part] = [sql.table(table), sql.table(`${table}_${day.replaceAll('-', '_')}`)];
  await sql`create table ${part} (like ${whole} including defaults including constraints)`.execute(transaction);
  await sql`alter table ${whole} attach partition ${part} for values in (${sql.lit(day)})`.execute(transaction);
}

/**
 * Work under a lock may take longer than a transaction may otherwise be idle; a transaction whose
 * process is gone releases the lock after an hour. This statement also ends the previous one, whose
 * snapshot a concurrent detach would wait for.
 */
async function mayBeIdle(transaction: Transaction<Database>): Promise<void> {
  await sql`set local idle_in_transaction_session_timeout = '1h'`.execute(transaction);
}

/** Advisory locks are identified by numbers, and belong to one database. */
function lockKey(table: TableByDay, name: 'care' | 'layout') {
  return sql`hashtextextended(${`gateway ${table} ${name}`}, 0)`;
}
