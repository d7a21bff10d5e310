import { type Kysely, sql } from 'kysely';
import { isPostgres } from '../dialect.ts';

/**
 * One table of daily sums, by account and group, replaces those over everything, per account and
 * per group. An ingest of the previous release can't write to it: its messages stay in the stream,
 * or in the edges' outboxes, until it is replaced.
 *
 * Totals by token, by account and by group stay what they were, whether or not they agree with the
 * events, and whether or not these are kept. Events say which usage has both an account and a
 * group. Where they are removed, usage by account and usage by group are separate rows, and a row
 * with neither, which may be negative, corrects the total.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const [ofKey, ending] = isPostgres(database) ? ['collate "C"', ''] : ['', 'without rowid'];
  // Renaming locks out writers until the transaction ends.
  await sql`alter table usage_daily rename to usage_daily_in_all`.execute(database);
  await sql`
    create table usage_daily (
      ${sql.raw(key.map((column) => `${column} text ${ofKey} not null default ''`).join(', '))},
      ${sql.raw(sums.map((column) => `${column} bigint not null default 0`).join(', '))},
      primary key (${sql.raw(key.join(', '))})
    ) ${sql.raw(ending)}`.execute(database);
  const { rows: days } = await sql<{ day: string }>`
    select distinct local_day as day from usage_daily_by_group`.execute(database);
  // Days are literals, so that Postgres reads only their partitions.
  const literals = sql.join(['', ...days.map(({ day }) => day)].map((day) => sql.lit(day)));
  await sql`
    insert into usage_daily (${sql.raw([...key, ...sums].join(', '))})
    with usage_of_both as materialized (
      select ${sql.raw([...key, ...sumsOfEvents].join(', '))} from usage_events
      where local_day in (${literals}) and account_id <> '' and group_id <> ''
      group by ${sql.raw(key.join(', '))}
    )
    select ${sql.raw([...key, ...sums.map((column) => `sum(${column})`)].join(', '))} from (
      ${sql.join(
        [
          rowsOf('usage_daily_in_all', ''),
          ...[rowsOf('usage_daily_by_account', 'account_id'), rowsOf('usage_daily_by_account', '', '-')],
          ...[rowsOf('usage_daily_by_group', 'group_id'), rowsOf('usage_daily_by_group', '', '-')],
          ...[rowsOf('usage_of_both', 'account_id, group_id'), rowsOf('usage_of_both', '')],
          ...[rowsOf('usage_of_both', 'account_id', '-'), rowsOf('usage_of_both', 'group_id', '-')],
        ],
        sql` union all `,
      )}) as changes
    group by ${sql.raw(key.join(', '))}
    having ${sql.raw(sums.map((column) => `sum(${column}) <> 0`).join(' or '))}`.execute(database);
  for (const table of ['usage_daily_in_all', 'usage_daily_by_account', 'usage_daily_by_group']) {
    await sql`drop table ${sql.table(table)}`.execute(database);
  }
  await sql`create index usage_daily_by_day on usage_daily (local_day)`.execute(database);
  await sql`create index usage_daily_by_account on usage_daily (account_id, local_day)`.execute(database);
  await sql`create index usage_daily_by_group on usage_daily (group_id, local_day)`.execute(database);
}

const key = ['token_id', 'local_day', 'provider', 'model', 'account_id', 'group_id'];
const tokens = ['input_tokens', 'cached_tokens', 'cache_write_5m_tokens', 'cache_write_1h_tokens', 'output_tokens'];
const unpriced = ['unpriced_tokens', 'unpriced_calls'];
const sums = ['requests', ...tokens, 'cost_micros', ...tokens.map((column) => `costed_${column}`), ...unpriced];
const sumsOfEvents = [
  `sum(case when provider <> '' and outcome not in ('lost', 'given_up') then 1 else 0 end) as requests`,
  ...['cost_micros', ...tokens, ...unpriced].map((column) => `coalesce(sum(${column}), 0) as ${column}`),
  ...tokens.map(
    (column) => `sum(case when cost_micros is null and parts is null then 0 else ${column} end) as costed_${column}`,
  ),
];

/** The rows of a table as changes of the row with the same values in `parts`. */
function rowsOf(table: string, parts: 'account_id, group_id' | 'account_id' | 'group_id' | '', sign = '') {
  const [accountId, groupId] = ['account_id', 'group_id'].map((column) => (parts.includes(column) ? column : `''`));
  const changes = sums.map((column) => `${sign}${column} as ${column}`);
  return sql.raw(`
    select token_id, local_day, provider, model, ${accountId} as account_id, ${groupId} as group_id, ${changes.join(', ')}
    from ${table}`);
}
