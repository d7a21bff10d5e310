import { type GatewayDatabase, isPostgres } from '@gateway/database';
import { type LocalDay, localDayOf } from '@gateway/time';
import { sql } from 'kysely';
import { firstIdAt, timesOfId } from './request-id.ts';
import type { Condition, Search } from './request-search.ts';

/** A position in the log, which is sorted by day and id. */
export interface LogKey {
  readonly localDay: LocalDay;
  readonly requestId: string;
}

/** How to walk over the log, newest first. */
export interface LogWalk {
  /** Kinds of rows, each of which an index lists in the order of the log. */
  readonly over: readonly Condition[];
  /** The index. Undefined: the log's own key. */
  readonly index: 'request_log_by_token' | 'request_log_unusual' | undefined;
  /** Which of the rows may match. */
  readonly where: Condition;
  /** Starts before this position. */
  readonly from: LogKey;
  /** Ends with this position. */
  readonly to: LogKey;
}

/**
 * Uses the index of tokens, or that of unusual requests, where the search allows it; otherwise it
 * visits all rows.
 */
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
  // Matches the condition of the index.
  if (isUnusual) return { over: [sql`(ending <> 2 or moved = 1 or slow = 1)`], index: 'request_log_unusual' };
  if (tokenIds.size === 0 || tokenIds.size > fewTokens) return { over: [sql`1 = 1`], index: undefined };
  return { over: [...tokenIds].map((tokenId) => sql`token_id = ${tokenId}`), index: 'request_log_by_token' };
}

/** The next rows of a walk on the day of `from`, up to a limit. */
export function walkedRows(database: GatewayDatabase, { over, index, to }: LogWalk, from: LogKey, limit: number) {
  const { localDay, requestId } = from;
  const bounds = [sql`local_day = ${localDay}`, sql`request_id < ${requestId}`];
  if (to.localDay === localDay) bounds.push(sql`request_id >= ${to.requestId}`);
  // Postgres knows how many rows of each kind there are. SQLite does not, and would use the key.
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

/** The position after all ids of a day. */
export function endOfDay(localDay: LocalDay): LogKey {
  return { localDay, requestId: '~' };
}

export function isBefore(one: LogKey, other: LogKey): boolean {
  if (one.localDay !== other.localDay) return one.localDay < other.localDay;
  return one.requestId < other.requestId;
}

/**
 * The columns that conditions use. The request is not among them: it is long, and read only for
 * matching rows.
 */
const columns = sql.raw(
  'local_day, request_id, token_id, received_at_ms, ending, moved, slow, models, status, endpoint, accounts, client_request_id',
);

/** For more tokens than this, the walk visits the whole log. */
const fewTokens = 8;
/** One process first creates an id and then records the arrival of its request. */
const clockSlackMs = 60_000;
/** A client may create ids of the same kind with its own clock. */
const idSlackMs = 3_600_000;

function keyAt(ms: number): LogKey {
  return { localDay: localDayOf(ms), requestId: firstIdAt(ms) };
}
