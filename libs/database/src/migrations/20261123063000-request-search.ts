import { type Kysely, sql } from 'kysely';
import { isPostgres } from '../dialect.ts';

/**
 * The columns by which requests are searched, and the time when they were logged. Rows of the
 * previous release lack them: a search reads the entries of those rows.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  for (const column of [
    'status bigint',
    'endpoint text',
    'accounts text',
    'client_request_id text',
    'logged_at_ms bigint',
  ]) {
    await sql`alter table request_log add column ${sql.raw(column)}`.execute(database);
  }
  const onlyParent = isPostgres(database) ? 'only' : '';
  for (const [name, definition] of indexes) {
    await sql`create index ${sql.ref(name)} on ${sql.raw(onlyParent)} request_log ${sql.raw(definition)}`.execute(
      database,
    );
  }
  if (isPostgres(database)) await indexSmallDays(database);
}

const indexes = [
  ['request_log_by_token', '(token_id, local_day, request_id)'],
  // Covers requests that failed, failed over or were slow: usually few.
  ['request_log_unusual', '(local_day, request_id) where ending <> 2 or moved = 1 or slow = 1'],
  ['request_log_by_arrival', '(logged_at_ms, request_id)'],
] as const;

/**
 * Future days have the indexes from the start. Large existing days do without until they are
 * removed, because nothing can be written while an index is built.
 */
async function indexSmallDays(database: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ readonly name: string }>`
    select cast(inhrelid as regclass) as name from pg_inherits
    where inhparent = to_regclass('request_log') and pg_relation_size(inhrelid) < ${sql.lit(largeBytes)}`.execute(
    database,
  );
  for (const { name } of rows) {
    for (const [index, definition] of indexes) {
      const own = sql.ref(name.replace('request_log', index));
      await sql`create index ${own} on ${sql.raw(name)} ${sql.raw(definition)}`.execute(database);
      await sql`alter index ${sql.ref(index)} attach partition ${own}`.execute(database);
    }
  }
}

/** About half a million requests, which take a second. */
const largeBytes = 512 * 1_048_576;
