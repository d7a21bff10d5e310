import type { GatewayDatabase, UsageDailyByAccountTable } from '@gateway/database';
import type { LocalDay } from '@gateway/time';
import { sql } from 'kysely';

/** What sums can be grouped by. */
export type GroupColumn = 'local_day' | 'token_id' | 'provider' | 'model' | 'account_id';

const summed = ['requests', 'input_tokens', 'cached_tokens', 'output_tokens'] as const;

/** A row has the columns that it is grouped by, and the sums. */
export type Sums = Pick<UsageDailyByAccountTable, (typeof summed)[number]> &
  Partial<Pick<UsageDailyByAccountTable, GroupColumn>>;

export interface SumsQuery {
  readonly first: LocalDay;
  readonly last: LocalDay;
  /** Empty, as the two below: all. */
  readonly tokenId: string;
  readonly model: string;
  readonly accountId: string;
  readonly columns: readonly GroupColumn[];
  /** Only rows after the one with this key. Undefined: all. */
  readonly after?: readonly string[] | undefined;
  readonly limit?: number;
}

/** Sums of local days, one row for each key, in the order of keys; none that is nothing. */
export async function sumsOfDays(database: GatewayDatabase, query: SumsQuery): Promise<readonly Sums[]> {
  const { columns, after, limit } = query;
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const sums = summed.map((column) => sql`cast(sum(${sql.ref(column)}) as bigint) as ${sql.ref(column)}`);
  const { rows } = await sql<Sums>`
    select ${names}, ${sql.join(sums)} from (${usageOf(query)}) as usage
    ${after === undefined ? sql`` : sql`where (${names}) > (${sql.join([...after])})`}
    group by ${names}
    having sum(requests) <> 0 or sum(input_tokens) <> 0 or sum(cached_tokens) <> 0 or sum(output_tokens) <> 0
    order by ${names} ${limit === undefined ? sql`` : sql`limit ${sql.lit(limit)}`}`.execute(database);
  return rows;
}

/** The rows to be summed up. What the sums of all accounts have beyond those of each is of no known account. */
function usageOf({ first, last, tokenId, model, accountId, columns }: SumsQuery) {
  const conditions = [
    sql`local_day >= ${first} and local_day <= ${last}`,
    ...(tokenId === '' ? [] : [sql`token_id = ${tokenId}`]),
    ...(model === '' ? [] : [sql`model = ${model}`]),
  ];
  const of = (
    table: 'usage_daily' | 'usage_daily_by_account',
    account: 'account_id' | '',
    sign: '' | '-',
    ...more: readonly (typeof conditions)[number][]
  ) => {
    const sums = summed.map((column) => sql`${sql.raw(sign)}${sql.ref(column)} as ${sql.ref(column)}`);
    const accountColumn = account === '' ? sql`'' as account_id` : sql.ref(account);
    return sql`select token_id, local_day, provider, model, ${accountColumn}, ${sql.join(sums)} from ${sql.table(table)}
      where ${sql.join([...conditions, ...more], sql` and `)}`;
  };
  if (accountId !== '') return of('usage_daily_by_account', 'account_id', '', sql`account_id = ${accountId}`);
  if (!columns.includes('account_id')) return of('usage_daily', '', '');
  return sql.join(
    [of('usage_daily_by_account', 'account_id', ''), of('usage_daily', '', ''), of('usage_daily_by_account', '', '-')],
    sql` union all `,
  );
}
