import { type Kysely, sql, type Transaction } from 'kysely';
import type { Database } from '../schema/database.ts';
import type { TableByDay } from './event-days.ts';

/** The table that holds one day of another. */
export interface DayPartition {
  readonly day: string;
  readonly name: string;
  /** Detaching takes two steps, and either of them may be the last one that a process lived to make. */
  readonly state: 'attached' | 'detaching' | 'detached';
  /** As the planner estimates. */
  readonly events: number;
}

/** Every day's table, oldest first. */
export async function dayPartitions(database: Kysely<Database>, table: TableByDay): Promise<readonly DayPartition[]> {
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
export async function createDayPartition(
  transaction: Transaction<Database>,
  table: TableByDay,
  day: string,
): Promise<void> {
  const [whole, part] = [sql.table(table), sql.table(`${table}_${day.replaceAll('-', '_')}`)];
  await sql`create table ${part} (like ${whole} including defaults including constraints)`.execute(transaction);
  await sql`alter table ${whole} attach partition ${part} for values in (${sql.lit(day)})`.execute(transaction);
}

/** Takes a day's table out, so that readers and writers of other days are not kept waiting. Not inside a transaction. */
export async function detachDayPartition(
  connection: Kysely<Database>,
  table: TableByDay,
  { name, state }: DayPartition,
): Promise<void> {
  if (state === 'detached') return;
  const how = state === 'detaching' ? sql`finalize` : sql`concurrently`;
  await sql`alter table ${sql.table(table)} detach partition ${sql.table(name)} ${how}`.execute(connection);
}

export async function dropDayPartition(connection: Kysely<Database>, { name }: DayPartition): Promise<void> {
  await sql`drop table ${sql.table(name)}`.execute(connection);
}
