import { type GatewayDatabase, isPostgres } from '@gateway/database';
import { type LocalDay, localDayOf } from '@gateway/time';
import { sql } from 'kysely';
import { firstIdAt, timesOfId } from './request-id.ts';
import type { Condition, Search } from './request-search.ts';

/** A place in the log, which is in the order of days and ids. */
export interface LogKey {
  readonly localDay: LocalDay;
  readonly requestId: string;
}

/** How the log is walked over, newest first. */
export interface LogWalk {
  /** Rows of which an index has each kind in the order of the log. */
  readonly over: readonly Condition[];
  /** That index. Undefined: the log's own key. */
  readonly index: 'request_log_by_token' | 'request_log_unusual' | undefined;
  /** Which of them may match. Those that an older release wrote always may, where it did not say. */
  readonly where: Condition;
  /** Begins before it. */
  readonly from: LogKey;
  /** Ends with it. */
  readonly to: LogKey;
}

/** Follows the index of tokens, or that of what did not end well, where the search allows it; else it sees all rows. */
export function walkOf(search: Search, before: LogKey | undefined): LogWalk {
  const { criteria, idPrefix, sinceMs = 0, untilMs = Infinity } = search;
  const times = timesOfId(idPrefix) ?? { firstMs: 0, lastMs: Infinity };
  const firstMs = Math.max(sinceMs - clockSlackMs, times.firstMs - idSlackMs);
  const lastMs = Math.min(untilMs + clockSlackMs, times.lastMs + idSlackMs);
  const latest = lastMs === Infinity ? { localDay: '9999-12-31', requestId: '' } : keyAt(lastMs);
  return {
    ...indexedRowsOf(search),
    where: sql`${sql.join([sql`1 = 1`, ...criteria.map(({ where }) => where)], sql` and `)}`,
    from: before !== undefined && isBefore(before, latest) ? before : latest,
    to: firstMs <= 0 ? { localDay: '', requestId: '' } : keyAt(firstMs),
  };
}

function indexedRowsOf({ tokenIds, isUnusual }: Search): Pick<LogWalk, 'over' | 'index'> {
  // As the index has it.
  if (isUnusual) return { over: [sql`(ending <> 2 or moved = 1 or slow = 1)`], index: 'request_log_unusual' };
  if (tokenIds.size === 0 || tokenIds.size > fewTokens) return { over: [sql`1 = 1`], index: undefined };
  return { over: [...tokenIds].map((tokenId) => sql`token_id = ${tokenId}`), index: 'request_log_by_token' };
}

/** The next rows of a walk on the day of `from`, at most so many. */
export function walkedRows(database: GatewayDatabase, { over, index, to }: LogWalk, from: LogKey, limit: number) {
  const { localDay, requestId } = from;
  const bounds = [sql`local_day = ${localDay}`, sql`request_id < ${requestId}`];
  if (to.localDay === localDay) bounds.push(sql`request_id >= ${to.requestId}`);
  // Postgres knows how many rows there are of each kind. SQLite does not, and takes the key.
  const by = index === undefined || isPostgres(database) ? sql`` : sql`indexed by ${sql.ref(index)}`;
  const ofEach = over.map(
    (condition) => sql`select * from (
      select ${columns} from request_log ${by}
      where ${sql.join([condition, ...bounds], sql` and `)}
      order by request_id desc limit ${sql.lit(limit)}) as walked`,
  );
  if (ofEach.length === 1) return sql`${ofEach[0]}`;
  return sql`${sql.join(ofEach, sql` union all `)} order by request_id desc limit ${sql.lit(limit)}`;
}

/** After all ids of a day. */
export function endOfDay(localDay: LocalDay): LogKey {
  return { localDay, requestId: '~' };
}

export function isBefore(one: LogKey, other: LogKey): boolean {
  if (one.localDay !== other.localDay) return one.localDay < other.localDay;
  return one.requestId < other.requestId;
}

/** What conditions are about. The entry is not among them: it is long, and read of the rows that match. */
const columns = sql.raw(
  'local_day, request_id, token_id, received_at_ms, ending, moved, slow, models, status, endpoint, accounts, client_request_id',
);

/** Of more tokens than these the log is walked over as a whole. */
const fewTokens = 8;
/** An id is made, and its request received, by one process, one after the other. */
const clockSlackMs = 60_000;
/** A client may make ids of the same kind, by a clock of its own. */
const idSlackMs = 3_600_000;

function keyAt(ms: number): LogKey {
  return { localDay: localDayOf(ms), requestId: firstIdAt(ms) };
}
