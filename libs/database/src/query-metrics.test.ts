import { Metrics } from '@gateway/telemetry';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { migrate } from './migrate.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';

describe('statements of a database', () => {
  it('are counted by what they do and how they failed, those around transactions not at all', async () => {
    const metrics = new Metrics();
    await using database = openSqlite(':memory:', { metrics });
    await migrate(database);
    const before = await counts(metrics);
    const row = { name: 'a', last_value: 1 };
    await database.transaction().execute(async (transaction) => {
      await transaction.insertInto('sequences').values(row).execute();
      await transaction.updateTable('sequences').set({ last_value: 2 }).execute();
    });
    await expect(database.insertInto('sequences').values(row).execute()).rejects.toThrow();
    await sql`with one as (select 1) select * from one`.execute(database);
    await database.selectFrom('sequences').selectAll().execute();
    await database.deleteFrom('sequences').execute();
    const after = await counts(metrics);
    const added = [...after].map(([labels, count]) => [labels, count - (before.get(labels) ?? 0)] as const);
    expect(Object.fromEntries(added.filter(([, count]) => count > 0))).toEqual({
      'sqlite insert': 1,
      'sqlite insert ERR_SQLITE_ERROR': 1,
      'sqlite update': 1,
      'sqlite select': 2,
      'sqlite delete': 1,
    });
  });
});

/** The number of measured statements, by their labels. */
async function counts(metrics: Metrics): Promise<ReadonlyMap<string, number>> {
  const durations = (await metrics.snapshot()).find(({ name }) => name === 'db_client_operation_duration_seconds');
  return new Map(
    (durations?.values ?? [])
      .filter((value) => 'metricName' in value && String(value.metricName).endsWith('_count'))
      .map(({ labels, value }) => {
        const { db_system_name, db_operation_name, error_type } = labels;
        return [`${db_system_name} ${db_operation_name} ${error_type}`.trim(), value];
      }),
  );
}
