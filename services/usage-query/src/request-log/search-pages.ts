import type { GatewayDatabase } from '@gateway/database';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { monotonicMs, yieldToEventLoop } from '@gateway/time';
import { type RawBuilder, sql } from 'kysely';
import { matches, readRequest, requestColumns, type Search } from './request-search.ts';
import { endOfDay, isBefore, type LogKey, type LogWalk, walkedRows, walkOf } from './search-walk.ts';

interface PageOrder {
  readonly size: number;
  /** The page contains rows before this one. Undefined: the first page. */
  readonly before: LogKey | undefined;
}

const usualLimits = {
  /**
   * How long to search for enough rows to fill a page. The page then contains what was found, and
   * the next one continues from there.
   */
  searchMs: 80,
  /**
   * The target duration of a statement, because in SQLite a statement blocks everything else. The
   * number of rows that fits depends on the disk and on the walk.
   */
  sliceMs: 20,
  fewestRows: 100,
  firstRows: 500,
  /** The next slice may be on disk while this one was in memory: then each row can cost a read. */
  mostRows: 4_000,
};

/**
 * One page of matching requests, newest first. The next page starts before `next`; undefined: there
 * is none. The log is read backwards in slices, so that a page takes no longer when the log is
 * large or matches are rare.
 */
export async function searchPage(
  database: GatewayDatabase,
  search: Search,
  { size, before }: PageOrder,
  limits = usualLimits,
) {
  const giveUpAtMs = monotonicMs() + limits.searchMs;
  const walk = walkOf(search, before);
  const found: Logged[] = [];
  const pageOf = (next: LogKey | undefined) => ({ requests: found.map(({ request }) => request), next });
  let rows = limits.firstRows;
  for (let from: LogKey | undefined = await dayBefore(database, walk, walk.from); ; await yieldToEventLoop()) {
    if (from === undefined) return pageOf(undefined);
    const startedMs = monotonicMs();
    const missing = size - found.length;
    const slice = walkedRows(database, walk, from, rows);
    const keys = await keysIn(database, slice, walk.where, missing);
    // The slice's last row; undefined for the last slice. It is read after the matching rows:
    // requests that are added in between shorten this slice, and never leave a gap.
    const [end] = keys.length === missing ? keys.slice(-1) : await keysIn(database, slice, sql`1 = 1`, 1, rows - 1);
    const within = end === undefined ? keys : keys.filter((key) => !isBefore(key, end));
    found.push(...(await readRequests(database, within)).filter(({ request }) => matches(search, request)));
    if (found.length === size) return pageOf(found.at(-1));
    from = end ?? (await dayBefore(database, walk, { ...from, requestId: '' }));
    if (monotonicMs() > giveUpAtMs) return pageOf(from);
    rows = nextRows(rows, monotonicMs() - startedMs, limits);
  }
}

/**
 * Days are visited one by one, because each is a table in Postgres. Returns the end of the previous
 * day when nothing precedes a place on its own day.
 */
async function dayBefore(database: GatewayDatabase, { to }: LogWalk, from: LogKey): Promise<LogKey | undefined> {
  if (from.requestId !== '') return from;
  const { day } = await database
    .selectFrom('request_log')
    .select(({ fn }) => fn.max('local_day').as('day'))
    .where('local_day', '<', from.localDay)
    .where('local_day', '>=', to.localDay)
    .executeTakeFirstOrThrow();
  return day === null ? undefined : endOfDay(day);
}

function nextRows(rows: number, tookMs: number, { sliceMs, fewestRows, mostRows }: typeof usualLimits): number {
  if (tookMs > sliceMs) return Math.max(fewestRows, Math.floor(rows / 2));
  return tookMs < sliceMs / 2 ? Math.min(mostRows, rows * 2) : rows;
}

interface Logged extends LogKey {
  readonly request: RequestRecorded;
}

/** At most this many matching rows of a slice, the newest first. */
async function keysIn(database: GatewayDatabase, slice: Sql, where: Sql, limit: number, offset = 0) {
  const { rows } = await sql<LogKey>`
    select local_day as "localDay", request_id as "requestId" from (${slice}) as slice where ${where}
    order by local_day desc, request_id desc limit ${sql.lit(limit)} offset ${sql.lit(offset)}`.execute(database);
  return rows;
}

type Sql = RawBuilder<unknown>;

async function readRequests(database: GatewayDatabase, keys: readonly LogKey[]): Promise<readonly Logged[]> {
  if (keys.length === 0) return [];
  const ids = keys.map(({ requestId }) => requestId);
  const rows = await database
    .selectFrom('request_log')
    .select(['local_day as localDay', ...requestColumns])
    .where('local_day', 'in', [...new Set(keys.map(({ localDay }) => localDay))])
    .where('request_id', 'in', ids)
    .orderBy('local_day', 'desc')
    .orderBy('request_id', 'desc')
    .execute();
  return rows.map(({ localDay, ...row }) => ({ localDay, requestId: row.request_id, request: readRequest(row) }));
}
