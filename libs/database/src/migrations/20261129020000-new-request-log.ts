import { type Kysely, sql } from 'kysely';
import { isPostgres } from '../dialect.ts';

/**
 * A new, empty request log, with each request as bytes and the columns by which requests are
 * searched: this release can't read the entries of the previous one.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const [key, bytes, ending] = isPostgres(database)
    ? ['collate "C"', 'bytea', 'partition by list (local_day)']
    : ['', 'blob', 'without rowid'];
  await sql`drop table request_log`.execute(database);
  await sql`
    create table request_log (
      request_id text ${sql.raw(key)} not null,
      local_day text ${sql.raw(key)} not null,
      token_id text not null,
      received_at_ms bigint not null,
      ending bigint not null,
      moved bigint not null,
      slow bigint not null,
      models text not null,
      status bigint not null,
      endpoint text not null,
      accounts text not null,
      client_request_id text not null,
      logged_at_ms bigint not null,
      entry_bytes ${sql.raw(bytes)} not null,
      primary key (local_day, request_id)
    ) ${sql.raw(ending)}`.execute(database);
  await sql`create index request_log_by_token on request_log (token_id, local_day, request_id)`.execute(database);
  // Covers requests that failed, failed over or were slow: usually few.
  await sql`
    create index request_log_unusual on request_log (local_day, request_id)
    where ending <> 2 or moved = 1 or slow = 1`.execute(database);
  await sql`create index request_log_by_arrival on request_log (logged_at_ms, request_id)`.execute(database);
}
