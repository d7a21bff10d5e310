import { type GatewayDatabase, isPostgres } from '@gateway/database';
import { type LocalDay, localDayOf } from '@gateway/time';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { firstIdAt, timesOfId } from './request-id.ts';
import type { Search } from './request-search.ts';

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

type Condition = RawBuilder<SqlBool>;

/** Follows the index of tokens, or that of what did not end well, where the search allows it; else it sees all rows. */
export function walkOf(search: Search, before: LogKey | undefined): LogWalk {
  const { tokenIds, outcome, statuses, sinceMs = 0, untilMs = Infinity, idPrefix } = search;
  const isUnusual = outcome !== undefined || (statuses !== undefined && statuses.first >= 400);
  const isOfFewTokens = tokenIds !== undefined && tokenIds.size <= fewTokens;
  const ofTokens = isOfFewTokens
    ? [...tokenIds].map((tokenId) => sql<SqlBool>`token_id = ${tokenId}`)
    : [sql<SqlBool>`1 = 1`];
  const times = timesOfId(idPrefix ?? '') ?? { firstMs: 0, lastMs: Infinity };
  const firstMs = Math.max(sinceMs - clockSlackMs, times.firstMs - idSlackMs);
  const lastMs = Math.min(untilMs + clockSlackMs, times.lastMs + idSlackMs);
  const latest = lastMs === Infinity ? { localDay: '9999-12-31', requestId: '' } : keyAt(lastMs);
  return {
    // As the index has it.
    over: isUnusual ? [sql`(ending <> 2 or moved = 1 or slow = 1)`] : ofTokens,
    index: isUnusual ? 'request_log_unusual' : isOfFewTokens ? 'request_log_by_token' : undefined,
    where: sql.join([sql`1 = 1`, ...conditionsOf(search)], sql` and `) as Condition,
    from: before !== undefined && isBefore(before, latest) ? before : latest,
    to: firstMs <= 0 ? { localDay: '', requestId: '' } : keyAt(firstMs),
  };
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
      select ${sql.join(columns.map((column) => sql.ref(column)))} from request_log ${by}
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
const columns = [
  'local_day',
  'request_id',
  'token_id',
  'received_at_ms',
  'ending',
  'moved',
  'slow',
  'models',
  'status',
  'endpoint',
  'accounts',
  'client_request_id',
] as const;

/** Of more tokens than these the log is walked over as a whole. */
const fewTokens = 8;
/** An id is made, and its request received, by one process, one after the other. */
const clockSlackMs = 60_000;
/** A client may make ids of the same kind, by a clock of its own. */
const idSlackMs = 3_600_000;

function keyAt(ms: number): LogKey {
  return { localDay: localDayOf(ms), requestId: firstIdAt(ms) };
}

function conditionsOf(search: Search): readonly Condition[] {
  const { tokenIds, model, outcome, sinceMs, untilMs, accountId, endpoint, statuses, idPrefix } = search;
  const length = sql.lit(idPrefix?.length ?? 0);
  return [
    tokenIds && sql<SqlBool>`token_id in (${sql.join([...tokenIds])})`,
    model === undefined ? undefined : hasLine('models', model),
    outcome && sql<SqlBool>`${sql.ref(outcome[0])} = ${outcome[1]}`,
    sinceMs === undefined ? undefined : sql<SqlBool>`received_at_ms >= ${sinceMs}`,
    untilMs === undefined ? undefined : sql<SqlBool>`received_at_ms < ${untilMs}`,
    accountId === undefined ? undefined : hasLine('accounts', accountId),
    endpoint === undefined ? undefined : sql<SqlBool>`(endpoint is null or endpoint = ${endpoint})`,
    statuses && sql<SqlBool>`(status is null or status between ${statuses.first} and ${statuses.last})`,
    idPrefix === undefined
      ? undefined
      : sql<SqlBool>`(client_request_id is null or substr(request_id, 1, ${length}) = ${idPrefix}
          or substr(client_request_id, 1, ${length}) = ${idPrefix})`,
  ].filter((condition) => condition !== undefined);
}

/** Texts before and after it are line ends, so that only a whole one matches. */
function hasLine(column: 'models' | 'accounts', text: string): Condition {
  const escaped = text.replaceAll(/[%_!]/g, '!$&');
  return sql`(${sql.ref(column)} is null or ${sql.ref(column)} like ${`%\n${escaped}\n%`} escape '!')`;
}
