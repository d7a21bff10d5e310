import type { Database, GatewayDatabase } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { type ReportUsageRequest, UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { addLocalDays, type LocalDay } from '@gateway/time';
import { type SelectQueryBuilder, sql } from 'kysely';
import { sumOf, type UsageTotals } from '../periods/usage-periods.ts';
import { requireLocalDay, type SummedColumns, toTotals } from './messages.ts';

const maxDays = 3_660;
/** One statement sums up so many days at most, so that none takes long however many tokens there are. */
const daysAtATime = 31;
const tokensAtATime = 1_000;

/** One page of what all tokens, or one, used. A page is read from an index; none needs more memory than its rows. */
export async function reportUsage(database: GatewayDatabase, request: ReportUsageRequest) {
  const { firstDay: first, lastDay: last, tokenId, grouping, pageToken: after } = request;
  requireLocalDay('first_day', first);
  requireLocalDay('last_day', last);
  if (last < first) throw new GatewayError('invalid_request', 'last_day is before first_day.');
  if (last > addLocalDays(first, maxDays)) {
    throw new GatewayError('invalid_request', `A report covers ${maxDays} days at most.`);
  }
  const page: Page = { first, last, tokenId, after };
  switch (grouping) {
    case UsageGrouping.UNSPECIFIED:
    case UsageGrouping.DAY:
      return byDay(database, page);
    case UsageGrouping.TOKEN:
      return byToken(database, page);
    case UsageGrouping.MODEL:
      return byModel(database, page);
    default:
      throw new GatewayError('invalid_request', 'grouping is not known.');
  }
}

interface Page {
  readonly first: LocalDay;
  readonly last: LocalDay;
  /** Empty: all tokens. */
  readonly tokenId: string;
  /** What the page before gave as its next; empty for the first page. */
  readonly after: string;
}

/** A page is a month of days. */
async function byDay(database: GatewayDatabase, page: Page) {
  const first = page.after === '' ? page.first : page.after;
  const last = endOfMonth(first, page);
  const rows = await sums(database, { ...page, first, last })
    .select('local_day')
    .groupBy('local_day')
    .orderBy('local_day')
    .execute();
  return {
    rows: rows.map((row) => ({ localDay: row.local_day, totals: toTotals(row) })),
    nextPageToken: last < page.last ? addLocalDays(last, 1) : '',
  };
}

async function byToken(database: GatewayDatabase, page: Page) {
  const rows = await sums(database, page)
    .select('token_id')
    .where('token_id', '>', page.after)
    .groupBy('token_id')
    .orderBy('token_id')
    .limit(tokensAtATime)
    .execute();
  return {
    rows: rows.map((row) => ({ tokenId: row.token_id, totals: toTotals(row) })),
    nextPageToken: rows.length === tokensAtATime ? (rows.at(-1)?.token_id ?? '') : '',
  };
}

/** Models are few: there is one page. */
async function byModel(database: GatewayDatabase, page: Page) {
  const byKey = new Map<string, UsageTotals>();
  for (let first = page.first; first <= page.last; first = addLocalDays(first, daysAtATime)) {
    const rows = await sums(database, { ...page, first, last: endOfMonth(first, page) })
      .select(['provider', 'model'])
      .groupBy(['provider', 'model'])
      .execute();
    for (const row of rows) {
      const key = JSON.stringify([row.provider, row.model]);
      const known = byKey.get(key);
      byKey.set(key, known === undefined ? toTotals(row) : sumOf(known, toTotals(row)));
    }
  }
  const inOrder = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1));
  const rows = inOrder.map(([key, totals]) => {
    const [provider = '', model = ''] = JSON.parse(key) as readonly string[];
    return { provider, model, totals };
  });
  return { rows, nextPageToken: '' };
}

function sums(database: GatewayDatabase, { first, last, tokenId }: Page) {
  const columns = ['requests', 'input_tokens', 'cached_tokens', 'output_tokens'] as const;
  const query: SelectQueryBuilder<Database, 'usage_daily', SummedColumns> = database
    .selectFrom('usage_daily')
    .select(columns.map((column) => sql<number>`cast(sum(${sql.ref(column)}) as bigint)`.as(column)))
    .where('local_day', '>=', first)
    .where('local_day', '<=', last);
  return tokenId === '' ? query : query.where('token_id', '=', tokenId);
}

function endOfMonth(first: LocalDay, { last }: Page): LocalDay {
  const end = addLocalDays(first, daysAtATime - 1);
  return end < last ? end : last;
}
