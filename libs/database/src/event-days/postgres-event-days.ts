import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Transaction } from 'kysely';
import { isMissingPartition, withSerializationRetry } from '../dialect.ts';
import type { Database, GatewayDatabase } from '../schema.ts';
import type { EventDays, ReadThenChange, RemovedDays, TableByDay } from './event-days.ts';
import { EventDaysBusyError, firstKeptDay, raiseFirstKeptDay } from './event-days.ts';

/** Pause between two looks whether other work has ended. */
const pollMs = 50;
/** Days that are remembered as open; beyond it all are looked up again. */
const maxRemembered = 1_000;

/** In Postgres every day is a partition of its own: removing one costs the same whatever is in it. */
export class PostgresEventDays implements EventDays {
  readonly #database: GatewayDatabase;
  readonly #table: TableByDay;
  /** Needed to change which partitions there are, not to add rows to those that are there. */
  readonly #layoutLock: string;
  /** For what must not run twice at once, or while days are removed. */
  readonly #careLock: string;
  readonly #patienceMs: number;
  readonly #open = new Set<string>();

  /** @param patienceMs how long other work on the days is waited for. */
  constructor(database: GatewayDatabase, table: TableByDay = 'usage_events', patienceMs = 30_000) {
    this.#database = database;
    this.#table = table;
    this.#layoutLock = `${table} layout`;
    this.#careLock = `${table} care`;
    this.#patienceMs = patienceMs;
  }

  async open(days: readonly string[]): Promise<void> {
    const unknown = days.filter((day) => !this.#open.has(day));
    if (unknown.length === 0) return;
    const missing = await missingDays(this.#database, this.#table, unknown);
    const removed = missing.length === 0 ? '' : await this.#create(missing);
    if (this.#open.size > maxRemembered) this.#open.clear();
    for (const day of unknown) if (day >= removed) this.#open.add(day);
  }

  async insertInto<T>(days: readonly string[], transaction: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      await this.open(days);
      try {
        return await transaction();
      } catch (thrown) {
        if (attempt === 3 || !isMissingPartition(thrown)) throw thrown;
        this.#open.clear();
      }
    }
  }

  async removeBefore(first: string, signal: AbortSignal): Promise<RemovedDays> {
    const database = this.#database;
    const removed = await withAdvisoryLock(database, this.#careLock, 'try', async () => {
      // Making a partition looks at the first day under the same lock: none is made again once this is said.
      await database.transaction().execute(async (transaction) => {
        await lockForTransaction(transaction, this.#layoutLock);
        await raiseFirstKeptDay(transaction, this.#table, first);
      });
      const old = (await dayPartitions(database, this.#table)).filter(({ day }) => day < first);
      const done: DayPartition[] = [];
      for (const partition of old) {
        if (signal.aborted) break;
        const detach = () => detachDayPartition(database, this.#table, partition);
        await withAdvisoryLock(database, this.#layoutLock, 'wait', detach);
        await sql`drop table ${sql.table(partition.name)}`.execute(database);
        this.#open.delete(partition.day);
        done.push(partition);
      }
      return { days: done.length, events: done.reduce((sum, { events }) => sum + events, 0) };
    });
    return removed ?? { days: 0, events: 0 };
  }

  async withLock<T>({ read, change }: ReadThenChange<T>): Promise<T> {
    const database = this.#database;
    const work = async (confirm: () => Promise<unknown>) => {
      const found = await database
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only')
        .execute(read);
      await withSerializationRetry(() =>
        database.transaction().execute(async (transaction) => {
          await change(transaction, found);
          await confirm();
        }),
      );
      return { found };
    };
    const giveUpAtMs = performance.now() + this.#patienceMs;
    while (true) {
      const done = await withAdvisoryLock(database, this.#careLock, 'try', work);
      if (done !== undefined) return done.found;
      if (performance.now() > giveUpAtMs) throw new EventDaysBusyError('other work on the days of events goes on');
      await sleep(pollMs);
    }
  }

  /** Makes the partitions that are still missing, and gives the first day that may have one. */
  #create(days: readonly string[]): Promise<string> {
    return withSerializationRetry(() =>
      this.#database.transaction().execute(async (transaction) => {
        await lockForTransaction(transaction, this.#layoutLock);
        const first = await firstKeptDay(transaction, this.#table);
        const missing = await missingDays(transaction, this.#table, days);
        for (const day of missing) if (day >= first) await createDayPartition(transaction, this.#table, day);
        return first;
      }),
    );
  }
}

/** Those of the days that have no partition yet, each once. */
async function missingDays(database: GatewayDatabase, table: TableByDay, days: readonly string[]) {
  const partitions = await dayPartitions(database, table);
  const attached = partitions.filter(({ state }) => state === 'attached').map(({ day }) => day);
  return [...new Set(days).difference(new Set(attached))];
}

/** The table that has one day of another. */
interface DayPartition {
  readonly day: string;
  readonly name: string;
  /** Detaching takes two steps, and either of them may be the last one that a process lived to make. */
  readonly state: 'attached' | 'detaching' | 'detached';
  /** As the planner estimates. */
  readonly events: number;
}

/** Every day's table, oldest first. */
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
 * Makes the table of one day. It is made empty and then attached, since making it as a partition would keep readers and
 * writers of all days out until the end of the transaction.
 */
async function createDayPartition(transaction: Transaction<Database>, table: TableByDay, day: string): Promise<void> {
  const [whole, part] = [sql.table(table), sql.table(`${table}_${day.replaceAll('-', '_')}`)];
  await sql`create table ${part} (like ${whole} including defaults including constraints)`.execute(transaction);
  await sql`alter table ${whole} attach partition ${part} for values in (${sql.lit(day)})`.execute(transaction);
}

/** Takes a day's table out, so that readers and writers of other days are not kept waiting. Not inside a transaction. */
async function detachDayPartition(database: GatewayDatabase, table: TableByDay, { name, state }: DayPartition) {
  if (state === 'detached') return;
  const how = state === 'detaching' ? sql`finalize` : sql`concurrently`;
  await sql`alter table ${sql.table(table)} detach partition ${sql.table(name)} ${how}`.execute(database);
}

/**
 * Does work while a transaction of its own has a lock of Postgres, by name; gives undefined at once when it is only tried for and
 * another transaction has it. Locks of sessions would be left behind in a pooler that shares sessions. The work uses other
 * connections, so that it may consist of several transactions. Fails when the lock was lost meanwhile; `confirm` throws by then.
 */
async function withAdvisoryLock<T>(
  database: GatewayDatabase,
  name: string,
  how: 'wait' | 'try',
  work: (confirm: () => Promise<unknown>) => Promise<T>,
): Promise<T | undefined> {
  return await database.transaction().execute(async (transaction) => {
    if (how === 'wait') await lockForTransaction(transaction, name);
    else if (!(await tryToLock(transaction, name))) return undefined;
    // The work may take longer than a transaction is else idle; one whose process is gone gives the lock up after an hour.
    await sql`set local idle_in_transaction_session_timeout = '1h'`.execute(transaction);
    const confirm = () => sql`select 1`.execute(transaction);
    const done = await work(confirm);
    await confirm();
    return done;
  });
}

/** Takes the lock for the rest of a transaction. */
async function lockForTransaction(transaction: Transaction<Database>, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${keyOf(name)})`.execute(transaction);
}

async function tryToLock(transaction: Transaction<Database>, name: string): Promise<boolean> {
  const locking = sql<{ locked: boolean }>`select pg_try_advisory_xact_lock(${keyOf(name)}) as locked`;
  return (await locking.execute(transaction)).rows[0]?.locked === true;
}

/** Advisory locks have numbers, and belong to one database. */
function keyOf(name: string) {
  return sql`hashtextextended(${`gateway ${name}`}, 0)`;
}
