import { type Kysely, sql } from 'kysely';
import { isPostgres } from '../dialect.ts';

/** The log of requests by day: as partitions in Postgres, sorted by day in SQLite. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const [key, ending] = isPostgres(database) ? ['collate "C"', 'partition by list (local_day)'] : ['', 'without rowid'];
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
      entry text not null,
      primary key (local_day, request_id)
    ) ${sql.raw(ending)}`.execute(database);
}
