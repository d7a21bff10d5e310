import { PriceBook, type PricedTokens, type UseCost } from '@gateway/prices';
import {
  type ReportUsageRequest,
  UsageGrouping,
  type UsageReportRow,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { UsageTotals } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { addLocalDays, epochMs, isLocalDay, localDayOf } from '@gateway/time';
import type { AdminPeers } from '../parts.ts';
import { pagesOf, peerCall } from '../peer-calls.ts';
import { checkFields } from '../rpc/problems.ts';
import type { TokenNames } from './token-names.ts';

export interface ReportParts {
  readonly peers: Pick<AdminPeers, 'usageReport' | 'poolOperator' | 'groups'>;
  readonly names: TokenNames;
}

export interface ReportQuery
  extends Pick<
    ReportUsageRequest,
    'firstDay' | 'lastDay' | 'grouping' | 'tokenId' | 'model' | 'accountId' | 'groupId' | 'pageToken'
  > {
  /** Also splits every row by this. */
  readonly thenBy?: UsageGrouping;
  /** Also reports the same number of days before the first one. */
  readonly compare: boolean;
  /** Only these tokens; never an empty list, which restricts nothing. */
  readonly tokenIds?: string[];
}

export type UsagePage = Awaited<ReturnType<typeof usagePage>>;

/** A page of usage with its cost. @throws ConnectError for invalid days. */
export async function usagePage(parts: ReportParts, query: ReportQuery, signal: AbortSignal) {
  checkDays(query);
  const { peers, names } = parts;
  const { compare, ...request } = query;
  const [{ rows: uses, nextPageToken }, prices] = await Promise.all([
    peers.usageReport.reportUsage({ ...request, byModel: true }, peerCall(signal)),
    readPrices(peers, signal),
  ]);
  const keyOf = keyBy(query);
  const groups = Map.groupBy(uses, (use) => JSON.stringify(keyOf(use)));
  const before = compare ? await groupsBefore(peers, query, uses, signal) : undefined;
  const tokenIds = uses.map(({ tokenId }) => tokenId);
  const labels = await names.labelsOf(tokenIds, signal);
  const groupNames = isBy(query, UsageGrouping.GROUP) ? await groupNamesOf(peers, signal) : undefined;
  const rows = [...groups].map(([text, group]) => {
    const key: UsageKey = JSON.parse(text);
    const earlier = before?.get(text);
    return {
      usage: { ...key, totals: totalOf(group) },
      cost: costOf(group, prices),
      tokenLabel: labels.get(key.tokenId) ?? '',
      ...(groupNames && { groupName: groupNames.get(key.groupId) ?? '' }),
      ...(earlier && { before: totalOf(earlier), costBefore: costOf(earlier, prices) }),
    };
  });
  return { rows, nextPageToken, currency: prices.currency };
}

/** The rows of a page in the period before, by their current keys. */
async function groupsBefore(
  { usageReport }: ReportParts['peers'],
  asked: ReportQuery,
  uses: readonly UsageReportRow[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly UsageReportRow[]>> {
  const { firstDay, lastDay, compare: _, pageToken: __, ...rest } = asked;
  const length = Temporal.PlainDate.from(firstDay).until(lastDay).days + 1;
  const keyOf = keyBy(asked);
  // A page of days needs only those days.
  const [first, last] = [uses[0]?.localDay || firstDay, uses.at(-1)?.localDay || lastDay];
  const period = { firstDay: addLocalDays(first, -length), lastDay: addLocalDays(last, -length) };
  const query = { ...rest, ...period, byModel: true };
  const pages = pagesOf((pageToken) => usageReport.reportUsage({ ...query, pageToken }, peerCall(signal)));
  const earlier = (await Array.fromAsync(pages)).flatMap(({ rows }) => rows);
  return Map.groupBy(earlier, (use) => {
    const { localDay, ...key } = keyOf(use);
    return JSON.stringify({ localDay: localDay === '' ? '' : addLocalDays(localDay, length), ...key });
  });
}

/** All pages, one after the other. */
export function usagePages(parts: ReportParts, query: Omit<ReportQuery, 'pageToken'>, signal: AbortSignal) {
  return pagesOf((pageToken) => usagePage(parts, { ...query, pageToken }, signal));
}

async function groupNamesOf({ groups }: ReportParts['peers'], signal: AbortSignal) {
  const listed = await groups.listGroups({}, peerCall(signal));
  return new Map(listed.groups.map(({ groupId, name }) => [groupId, name]));
}

async function readPrices({ poolOperator }: ReportParts['peers'], signal: AbortSignal): Promise<PriceBook> {
  const { file } = await poolOperator.getGatewayFile({}, peerCall(signal));
  return new PriceBook(file);
}

/**
 * What the ledger has, and the rest at the prices of today. What had no price as it was served is
 * not part of the rest.
 */
function costOf(uses: readonly UsageReportRow[], prices: PriceBook): ReportedCost | undefined {
  const rest = uses.flatMap(({ model, totals }) => {
    return totals === undefined ? [] : [{ model, tokens: withoutCosted(totals) }];
  });
  const afterwards = prices.costOfSums(rest, localDayOf(epochMs()));
  if (afterwards === undefined) return undefined;
  const add = (name: 'costMicros' | 'unpricedTokens' | 'unpricedCalls') =>
    uses.reduce((sum, { totals }) => sum + (totals?.[name] ?? 0), 0);
  return {
    micros: add('costMicros') + afterwards.micros,
    unpricedTokens: add('unpricedTokens') + afterwards.unpricedTokens,
    unpricedCalls: add('unpricedCalls'),
    computedAfterwardsMicros: afterwards.micros,
  };
}

interface ReportedCost extends UseCost {
  readonly unpricedCalls: number;
  readonly computedAfterwardsMicros: number;
}

function withoutCosted({ costed, ...totals }: UsageTotals): PricedTokens {
  return {
    inputTokens: totals.inputTokens - (costed?.inputTokens ?? 0),
    cachedTokens: totals.cachedTokens - (costed?.cachedTokens ?? 0),
    cacheWrite5mTokens: totals.cacheWrite5mTokens - (costed?.cacheWrite5mTokens ?? 0),
    cacheWrite1hTokens: totals.cacheWrite1hTokens - (costed?.cacheWrite1hTokens ?? 0),
    outputTokens: totals.outputTokens - (costed?.outputTokens ?? 0),
  };
}

function checkDays({ firstDay, lastDay }: ReportQuery): void {
  checkFields({
    ...(!isLocalDay(firstDay) && { firstDay: 'Must be a day such as 2026-11-01.' }),
    ...(!isLocalDay(lastDay) && { lastDay: 'Must be a day such as 2026-11-20.' }),
  });
  const isTooLong = lastDay > addLocalDays(firstDay, maxDays);
  checkFields({
    ...(lastDay < firstDay && { lastDay: 'Must not be before the first day.' }),
    ...(isTooLong && { lastDay: `Must be at most ${maxDays} days after the first day.` }),
  });
}

const maxDays = 3_660;

/** The key of a row: the fields that it is grouped by; the others are empty. */
type UsageKey = Pick<UsageReportRow, 'localDay' | 'tokenId' | 'provider' | 'model' | 'accountId' | 'groupId'>;

/** Every row is of one model, so that it can be priced. */
function keyBy(query: ReportQuery): (use: UsageReportRow) => UsageKey {
  const isByModel = isBy(query, UsageGrouping.MODEL) || isBy(query, UsageGrouping.ALL);
  return ({ localDay, tokenId, provider, model, accountId, groupId }) => {
    const ofModel = isByModel ? { provider, model } : { provider: '', model: '' };
    return { localDay, tokenId, ...ofModel, accountId, groupId };
  };
}

function isBy({ grouping, thenBy }: ReportQuery, wanted: UsageGrouping): boolean {
  return grouping === wanted || thenBy === wanted;
}

export function totalOf(uses: readonly { readonly totals?: Readonly<typeof nothing> | undefined }[]) {
  const total = { ...nothing };
  for (const { totals } of uses) {
    for (const count of counts) total[count] += totals?.[count] ?? 0;
  }
  return total;
}

const nothing = {
  requests: 0,
  inputTokens: 0,
  cachedTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
};
const counts = Object.keys(nothing) as (keyof typeof nothing)[];
