import { createTestDatabase } from '@gateway/testkit';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { expect, it } from 'vitest';
import { eventDaysOf, type GatewayDatabase, migrate } from '../src/index.ts';
import { migrations } from '../src/migrations/index.ts';
import { openPostgres } from '../src/postgres/open-postgres.ts';

it('days of the request log have the indexes of searches, those of before and those to come', async () => {
  await using empty = await createTestDatabase();
  await using database = openPostgres(empty.url);
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => ({ ...migrations }) } });
  await migrator.migrateTo('20261123062000-usage-accounts');
  const days = eventDaysOf(database, 'request_log');
  await days.open(['2026-11-20']);
  await migrate(database);
  await days.open(['2026-11-21']);
  for (const day of ['2026_11_20', '2026_11_21']) expect(await indexedColumns(database, day)).toEqual(expected);
  expect(await days.removeBefore('2026-11-21', new AbortController().signal)).toMatchObject({ days: 1 });
});

const expected = [
  '(local_day, request_id)',
  '(local_day, request_id) WHERE ((ending <> 2) OR (moved = 1) OR (slow = 1))',
  '(logged_at_ms, request_id)',
  '(token_id, local_day, request_id)',
];

async function indexedColumns(database: GatewayDatabase, day: string): Promise<readonly string[]> {
  const { rows } = await sql<{ indexdef: string }>`
    select indexdef from pg_indexes where tablename = ${`request_log_${day}`}`.execute(database);
  return rows.map(({ indexdef }) => indexdef.slice(indexdef.indexOf('('))).toSorted();
}
