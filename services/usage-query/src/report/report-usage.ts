import { type GatewayDatabase, plusSums, totalsOf } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { type ReportUsageRequest, UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { addLocalDays, type LocalDay } from '@gateway/time';
import { type GroupField, type Key, requireLocalDay, type Sum, type SumsQuery, sumsOfDays } from './daily-sums.ts';

const maxDays = 3_660;
const maxTokens = 1_000;
/** The maximum number of days that a page covers. */
const daysAtATime = 31;
const rowsAtATime = 1_000;

/**
 * One page of tokens' usage. No statement takes long or needs more memory than its rows, whatever
 * the number of tokens.
 */
export async function reportUsage(database: GatewayDatabase, request: ReportUsageRequest) {
  const { firstDay: first, lastDay: last, tokenId, tokenIds, model, accountId, groupId, byModel } = request;
  requireLocalDay('first_day', first);
  requireLocalDay('last_day', last);
  if (last < first) throw new GatewayError('invalid_request', 'last_day is before first_day.');
  if (last > addLocalDays(first, maxDays)) {
    throw new GatewayError('invalid_request', `A report covers at most ${maxDays} days.`);
  }
  if (tokenIds.length > maxTokens) {
    throw new GatewayError('invalid_request', `token_ids must be at most ${maxTokens}.`);
  }
  const keyFields = keyFieldsOf(request);
  const fields = byModel ? union(keyFields, ['provider', 'model']) : keyFields;
  const after = readPageToken(request.pageToken, fields);
  const criteria = { first, last, tokenId, tokenIds, model, accountId, groupId };
  const query = { ...criteria, fields, after, keyLength: keyFields.length };
  const { rows, next } = await readerOf(keyFields)(database, query);
  return {
    rows: rows.map(({ key, sums }) => ({
      ...Object.fromEntries(fields.map((field, place) => [field, key[place]])),
      totals: totalsOf(sums),
    })),
    // The parts of a key may contain any character.
    nextPageToken: next?.map(encodeURIComponent).join('/') ?? '',
  };
}

interface Page {
  readonly rows: readonly Sum[];
  /** The next page starts after this key. Undefined: there is no next page. */
  readonly next: Key | undefined;
}

interface ReportQuery extends SumsQuery {
  /**
   * How many of the fields the report is grouped by. The other fields split its rows, and a page
   * ends with all parts of a row.
   */
  readonly keyLength: number;
}

/** Undefined for a number that only a later release knows. */
const groupings: Readonly<Record<number, readonly GroupField[] | undefined>> = {
  [UsageGrouping.UNSPECIFIED]: ['localDay'],
  [UsageGrouping.DAY]: ['localDay'],
  [UsageGrouping.TOKEN]: ['tokenId'],
  [UsageGrouping.MODEL]: ['provider', 'model'],
  [UsageGrouping.ACCOUNT]: ['accountId'],
  [UsageGrouping.GROUP]: ['groupId'],
  [UsageGrouping.ALL]: ['localDay', 'tokenId', 'provider', 'model', 'accountId'],
};

/** The fields of both groupings; the day comes first, because reports are read day by day. */
function keyFieldsOf({ grouping, thenBy }: ReportUsageRequest): readonly GroupField[] {
  const first = groupings[grouping];
  const second = thenBy === UsageGrouping.UNSPECIFIED ? [] : groupings[thenBy];
  if (first === undefined) throw new GatewayError('invalid_request', 'grouping is unknown.');
  if (second === undefined) throw new GatewayError('invalid_request', 'then_by is unknown.');
  return second.includes('localDay') ? union(second, first) : union(first, second);
}

function union(some: readonly GroupField[], more: readonly GroupField[]): readonly GroupField[] {
  return [...new Set([...some, ...more])];
}

type Read = (database: GatewayDatabase, query: ReportQuery) => Promise<Page>;

function readerOf(fields: readonly GroupField[]): Read {
  if (fields.includes('localDay')) return byDays(fields.length === 1 ? daysAtATime : 1);
  return fields.includes('tokenId') || fields.includes('groupId') ? byKeys : atOnce;
}

/**
 * The key starts with the day, so a statement reads a few days. A page ends where the rows or days
 * of the next one start.
 */
function byDays(daysOfStatement: number): Read {
  return async (database, { after: place, ...query }) => {
    let first = place?.[0] ?? query.first;
    requireLocalDay('page_token', first);
    let after = place !== undefined && place.length > 1 ? place : undefined;
    const rows: Sum[] = [];
    for (const end = endOf(first, query.last, daysAtATime); first <= end; after = undefined) {
      const last = endOf(first, end, daysOfStatement);
      const limit = rowsAtATime - rows.length;
      const { found, isAll } = await wholeRows(database, { ...query, first, last, after }, limit);
      rows.push(...found);
      if (!isAll) return { rows, next: rows.at(-1)?.key };
      first = addLocalDays(last, 1);
    }
    return { rows, next: first <= query.last ? [first] : undefined };
  };
}

async function byKeys(database: GatewayDatabase, query: ReportQuery): Promise<Page> {
  const { found: rows, isAll } = await wholeRows(database, query, rowsAtATime);
  return { rows, next: isAll ? undefined : rows.at(-1)?.key };
}

/** There are few models and accounts, so one page suffices. */
async function atOnce(database: GatewayDatabase, query: ReportQuery): Promise<Page> {
  const byKey = new Map<string, Sum>();
  for (let { first } = query; first <= query.last; first = addLocalDays(first, daysAtATime)) {
    for (const row of await sumsOfDays(database, { ...query, first, last: endOf(first, query.last, daysAtATime) })) {
      const name = JSON.stringify(row.key);
      const known = byKey.get(name);
      byKey.set(name, known === undefined ? row : { ...row, sums: plusSums(known.sums, row.sums) });
    }
  }
  const inOrder = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1));
  return { rows: inOrder.map(([, row]) => row), next: undefined };
}

/** This many rows, or slightly fewer or more, so that all parts of the last row are included. */
async function wholeRows(database: GatewayDatabase, query: ReportQuery, limit: number) {
  const { fields, keyLength } = query;
  for (let most = Math.max(limit, 1); ; most *= 2) {
    const found = await sumsOfDays(database, { ...query, limit: most });
    if (found.length < most) return { found, isAll: true };
    if (keyLength === fields.length) return { found, isAll: false };
    const last = found.at(-1)?.key;
    const whole = found.findIndex(({ key }) => key.slice(0, keyLength).every((part, place) => part === last?.[place]));
    if (whole > 0) return { found: found.slice(0, whole), isAll: false };
  }
}

/** The last day of this many, or of all. */
function endOf(first: LocalDay, last: LocalDay, days: number): LocalDay {
  const end = addLocalDays(first, days - 1);
  return end < last ? end : last;
}

function readPageToken(text: string, fields: readonly GroupField[]): Key | undefined {
  if (text === '') return undefined;
  try {
    const key = text.split('/').map(decodeURIComponent);
    const isDay = key.length === 1 && fields[0] === 'localDay';
    if (isDay || key.length === fields.length) return key;
  } catch {
    // The check below reports it.
  }
  throw new GatewayError('invalid_request', 'page_token is invalid.');
}
