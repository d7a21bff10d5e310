import { type GatewayDatabase, type SummedColumn, summedColumns, totalsOf } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { isLocalDay, type LocalDay } from '@gateway/time';
import { type RawBuilder, sql } from 'kysely';
import type { UsageTotals } from '../periods/usage-periods.ts';

/** The fields that sums can be grouped by, by their name in messages, with their columns. */
const columns = {
  localDay: 'local_day',
  tokenId: 'token_id',
  provider: 'provider',
  model: 'model',
  accountId: 'account_id',
} as const;

export type GroupField = keyof typeof columns;

export interface SumsQuery {
  readonly first: LocalDay;
  readonly last: LocalDay;
  /** Empty means all, here and in the two fields below. */
  readonly tokenId: string;
  readonly model: string;
  readonly accountId: string;
  readonly fields: readonly GroupField[];
  /** Only rows after the one with this key. Undefined: all rows. */
  readonly after?: Key | undefined;
  readonly limit?: number;
}

/** In the order of the fields that sums are grouped by. */
export type Key = readonly string[];

export interface Sum {
  readonly key: Key;
  readonly totals: UsageTotals;
}

/** Sums over local days, one row for each key, sorted by key; rows of zeros are left out. */
export async function sumsOfDays(database: GatewayDatabase, query: SumsQuery): Promise<readonly Sum[]> {
  const { fields, after, limit } = query;
  const names = sql.join(fields.map((field) => sql.ref(columns[field])));
  const sums = summedColumns.map((column) => sql`cast(sum(${sql.ref(column)}) as bigint) as ${sql.ref(column)}`);
  const { rows } = await sql<Readonly<Record<SummedColumn, number> & Record<(typeof columns)[GroupField], string>>>`
    select ${names}, ${sql.join(sums)} from (${usageOf(query)}) as usage
    ${after === undefined ? sql`` : sql`where (${names}) > (${sql.join([...after])})`}
    group by ${names}
    having sum(requests) <> 0 or sum(input_tokens) <> 0 or sum(cached_tokens) <> 0 or sum(output_tokens) <> 0
    order by ${names} ${limit === undefined ? sql`` : sql`limit ${sql.lit(limit)}`}`.execute(database);
  return rows.map((row) => ({ key: fields.map((field) => row[columns[field]]), totals: totalsOf(row) }));
}

/** @throws GatewayError unless the text is a calendar day, such as 2026-11-20. */
export function requireLocalDay(field: string, text: string): void {
  if (isLocalDay(text)) return;
  throw new GatewayError('invalid_request', `${field} must be a day such as 2026-11-20.`);
}

/**
 * The rows to add up. The part of the sums over all accounts that no account's sum contains belongs
 * to no known account.
 */
function usageOf({ first, last, tokenId, model, accountId, fields }: SumsQuery) {
  const conditions = [sql`local_day >= ${first} and local_day <= ${last}`];
  if (tokenId !== '') conditions.push(sql`token_id = ${tokenId}`);
  if (model !== '') conditions.push(sql`model = ${model}`);
  if (accountId !== '') conditions.push(sql`account_id = ${accountId}`);
  const from = (table: 'usage_daily' | 'usage_daily_by_account', account: RawBuilder<unknown>, sign: '' | '-' = '') => {
    const sums = summedColumns.map((column) => sql`${sql.raw(sign)}${sql.ref(column)} as ${sql.ref(column)}`);
    return sql`select token_id, local_day, provider, model, ${account} as account_id, ${sql.join(sums)}
      from ${sql.table(table)} where ${sql.join(conditions, sql` and `)}`;
  };
  const [each, unknown] = [sql.ref('account_id'), sql.lit('')];
  if (accountId !== '') return from('usage_daily_by_account', each);
  if (!fields.includes('accountId')) return from('usage_daily', unknown);
  return sql.join(
    [from('usage_daily_by_account', each), from('usage_daily', unknown), from('usage_daily_by_account', unknown, '-')],
    sql` union all `,
  );
}
