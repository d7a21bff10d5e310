import { type Kysely, sql } from 'kysely';
import { isPostgres } from '../dialect.ts';

/**
 * What requests are searched by, and when they were logged. Rows of the release before have none of it: a search looks into those
 * themselves.
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
  // Those that did not end well, or not at once: as a rule few.
  ['request_log_unusual', '(local_day, request_id) where ending <> 2 or moved = 1 or slow = 1'],
  ['request_log_by_arrival', '(logged_at_ms, request_id)'],
] as const;

/**
 * Days to come have the indexes from the start. Of those that are there the large ones do without until they are removed: nothing can be
 * written while an index is made.
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

/** Some half a million requests, which take a second. */
const largeBytes = 512 * 1_048_576;
