import { readdirSync, readFileSync } from 'node:fs';
import type { GatewayDatabase } from '@gateway/database';
import { sql } from 'kysely';

export interface TableSize {
  readonly rows: number;
  readonly tableBytes: number;
  readonly indexBytes: number;
}

/** What a table takes on disk, with all of its partitions. */
export async function sizeOf(database: GatewayDatabase, table: 'usage_events' | 'usage_daily'): Promise<TableSize> {
  const { rows } = await sql<{ tableBytes: number; indexBytes: number }>`
    select cast(sum(pg_table_size(relid)) as bigint) as "tableBytes",
           cast(sum(pg_indexes_size(relid)) as bigint) as "indexBytes"
    from pg_partition_tree(${table}::regclass)`.execute(database);
  const plain = await sql<{ tableBytes: number; indexBytes: number }>`
    select pg_table_size(${table}::regclass) as "tableBytes", pg_indexes_size(${table}::regclass) as "indexBytes"
  `.execute(database);
  const [size = { tableBytes: 0, indexBytes: 0 }] = table === 'usage_daily' ? plain.rows : rows;
  const count = await sql<{ rows: number }>`select count(*) as rows from ${sql.table(table)}`.execute(database);
  return { rows: count.rows[0]?.rows ?? 0, ...size };
}

/** The share of a table's updates that touched no index, and its size on disk. */
export async function updatesOf(database: GatewayDatabase, table: string) {
  const { rows } = await sql<{ updates: number; inPlace: number; bytes: number }>`
    select n_tup_upd as updates, n_tup_hot_upd as "inPlace", pg_total_relation_size(relid) as bytes
    from pg_stat_user_tables where relname = ${table}`.execute(database);
  const [{ updates, inPlace, bytes } = { updates: 0, inPlace: 0, bytes: 0 }] = rows;
  return { inPlace: inPlace / updates, bytes };
}

/** Bytes of write-ahead log written so far. */
export async function walBytes(database: GatewayDatabase): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select cast(pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bigint) as bytes`.execute(database);
  return rows[0]?.bytes ?? 0;
}

/** The median duration of a call that is made several times, after once to warm up. */
export async function medianMs(times: number, call: () => Promise<unknown>): Promise<number> {
  await call();
  const durations: number[] = [];
  for (let index = 0; index < times; index++) {
    const startedMs = performance.now();
    await call();
    durations.push(performance.now() - startedMs);
  }
  return durations.sort((a, b) => a - b)[Math.floor(times / 2)] ?? Number.NaN;
}

/** Processor seconds that a server and its children have used, from the accounting of Linux; undefined elsewhere. */
export function cpuSeconds(serverPid: number | undefined): number | undefined {
  if (process.platform !== 'linux' || serverPid === undefined) return undefined;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const processes = pids.flatMap((pid) => statOf(Number(pid)) ?? []);
  return processes
    .filter(({ pid, parent }) => pid === serverPid || parent === serverPid)
    .reduce((sum, { seconds }) => sum + seconds, 0);
}

const ticksPerSecond = 100;

/** Times of a process; those of its children that have ended are counted with it. */
function statOf(pid: number) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { pid, parent: Number(fields[1]), seconds: ticks / ticksPerSecond };
  } catch {
    // It has ended since.
    return undefined;
  }
}
