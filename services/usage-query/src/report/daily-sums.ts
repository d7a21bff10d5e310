import { type GatewayDatabase, summedColumns, type UsageSums } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { isLocalDay, type LocalDay } from '@gateway/time';
import { sql } from 'kysely';

/** The fields that sums can be grouped by, by their name in messages, with their columns. */
const columns = {
  localDay: 'local_day',
  tokenId: 'token_id',
  provider: 'provider',
  model: 'model',
  accountId: 'account_id',
  groupId: 'group_id',
} as const;

export type GroupField = keyof typeof columns;

export interface SumsQuery {
  readonly first: LocalDay;
  readonly last: LocalDay;
  /** Empty means all, here and in the four fields below. */
  readonly tokenId?: string;
  readonly tokenIds?: readonly string[];
  readonly model?: string;
  readonly accountId?: string;
  readonly groupId?: string;
  readonly fields: readonly GroupField[];
  /** Only rows after the one with this key. Undefined: all rows. */
  readonly after?: Key | undefined;
  readonly limit?: number;
}

/** In the order of the fields that sums are grouped by. */
export type Key = readonly string[];

export interface Sum {
  readonly key: Key;
  readonly sums: UsageSums;
}

/** Sums over local days, one row for each key, sorted by key; rows of zeros are left out. */
export async function sumsOfDays(database: GatewayDatabase, query: SumsQuery): Promise<readonly Sum[]> {
  const { fields, limit } = query;
  const names = namesOf(fields);
  const sums = summedColumns.map((column) => sql`cast(sum(${sql.ref(column)}) as bigint) as ${sql.ref(column)}`);
  const { rows } = await sql<UsageSums & Readonly<Record<(typeof columns)[GroupField], string>>>`
    select ${names}, ${sql.join(sums)} from usage_daily where ${conditionsOf(query)}
    group by ${names}
    having ${sql.join(
      summedColumns.map((column) => sql`sum(${sql.ref(column)}) <> 0`),
      sql` or `,
    )}
    order by ${names} ${limit === undefined ? sql`` : sql`limit ${sql.lit(limit)}`}`.execute(database);
  return rows.map((row) => ({ key: fields.map((field) => row[columns[field]]), sums: row }));
}

/** @throws GatewayError unless the text is a calendar day, such as 2026-11-20. */
export function requireLocalDay(field: string, text: string): void {
  if (isLocalDay(text)) return;
  throw new GatewayError('invalid_request', `${field} must be a day such as 2026-11-20.`);
}

/** The rows to add up. */
function conditionsOf({ first, last, tokenIds = [], fields, after, ...query }: SumsQuery) {
  const conditions = [sql`local_day >= ${first} and local_day <= ${last}`];
  if (tokenIds.length > 0) conditions.push(sql`token_id in (${sql.join([...tokenIds])})`);
  for (const name of ['tokenId', 'model', 'accountId', 'groupId'] as const) {
    if (query[name]) conditions.push(sql`${sql.ref(columns[name])} = ${query[name]}`);
  }
  if (after !== undefined) conditions.push(sql`(${namesOf(fields)}) > (${sql.join([...after])})`);
  return sql.join(conditions, sql` and `);
}

function namesOf(fields: readonly GroupField[]) {
  return sql.join(fields.map((field) => sql.ref(columns[field])));
}
