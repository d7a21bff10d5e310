import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { eventDaysOf } from '../src/index.ts';
import { openTestPostgres } from '../src/testing/test-databases.ts';

it('days of the request log have the indexes of searches', async () => {
  await using opened = await openTestPostgres();
  const { database } = opened;
  const days = eventDaysOf(database, 'request_log');
  await days.open(['2026-11-20', '2026-11-21']);
  const { rows } = await sql<{ indexdef: string }>`
    select indexdef from pg_indexes where tablename = 'request_log_2026_11_21'`.execute(database);
  expect(rows.map(({ indexdef }) => indexdef.slice(indexdef.indexOf('('))).toSorted()).toEqual([
    '(local_day, request_id)',
    '(local_day, request_id) WHERE ((ending <> 2) OR (moved = 1) OR (slow = 1))',
    '(logged_at_ms, request_id)',
    '(token_id, local_day, request_id)',
  ]);
  expect(await days.removeBefore('2026-11-21', new AbortController().signal)).toMatchObject({ days: 1 });
});
