import { create } from '@bufbuild/protobuf';
import { moneyText } from '@gateway/presentation';
import { type UsageRow, UsageRowSchema, UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { InvalidArgumentError } from 'commander';
import type { AdminConnection } from '../../connection/admin-connection.ts';
import { pagesOf } from '../../connection/pages.ts';
import { listPrinter, note, type OutputFlags } from '../../output/print.ts';
import type { Columns } from '../../output/table.ts';
import { percent } from '../../output/words.ts';
import { type PeriodFlags, periodOf } from '../flags.ts';
import { findTokenId } from '../token.ts';

export interface FilterFlags {
  readonly token?: string;
  readonly model?: string;
  readonly account?: string;
  readonly group?: string;
}

export interface ReportFlags extends PeriodFlags, FilterFlags {
  readonly by: readonly GroupingName[];
  readonly compare?: true;
}

/** The grouping of a row, and its key columns. */
export const groupings = {
  day: { grouping: UsageGrouping.DAY, keys: { day: ({ usage }) => usage?.localDay ?? '' } },
  token: {
    grouping: UsageGrouping.TOKEN,
    keys: { token: ({ tokenLabel }) => tokenLabel, id: ({ usage }) => usage?.tokenId ?? '' },
  },
  model: {
    grouping: UsageGrouping.MODEL,
    keys: { provider: ({ usage }) => usage?.provider ?? '', model: ({ usage }) => usage?.model ?? '' },
  },
  account: { grouping: UsageGrouping.ACCOUNT, keys: { account: ({ usage }) => usage?.accountId || '(unknown)' } },
  group: {
    grouping: UsageGrouping.GROUP,
    keys: { group: ({ usage, groupName }) => groupName || usage?.groupId || '(none)' },
  },
} as const satisfies Record<string, { grouping: UsageGrouping; keys: Columns<UsageRow> }>;

export type GroupingName = keyof typeof groupings;

/** "token", or "token,model". */
export function groupingNames(text: string): readonly GroupingName[] {
  const names = text.split(',').map((name) => name.trim());
  const known = names.filter(isGroupingName);
  if (names.length <= 2 && new Set(known).size === names.length) return known;
  throw new InvalidArgumentError(
    `It must be ${Object.keys(groupings).join(', ')}, or two of them, such as token,model.`,
  );
}

function isGroupingName(text: string): text is GroupingName {
  return Object.hasOwn(groupings, text);
}

/** Prints sums page after page: one page at a time is in memory, however long the report is. */
export async function reportUsage(admin: AdminConnection, flags: ReportFlags & OutputFlags): Promise<void> {
  const { by, compare = false } = flags;
  const [{ grouping } = groupings.day, then] = by.map((name) => groupings[name]);
  const keys = keyColumns(by);
  const total = create(UsageRowSchema, totalRow);
  const filter = {
    tokenId: await findTokenId(admin, flags.token),
    model: flags.model ?? '',
    accountId: flags.account ?? '',
    groupId: flags.group ?? '',
  };
  const request = { ...periodOf(flags), ...filter, grouping, ...(then && { thenBy: then.grouping }), compare };
  let printer: ReturnType<typeof listPrinter<UsageRow>> | undefined;
  const pages = pagesOf((pageToken) => admin.clientOf(UsageService).reportUsage({ ...request, pageToken }));
  for await (const { rows, currency } of pages) {
    printer ??= listPrinter(flags, UsageRowSchema, { ...keys, ...sumColumns(currency, compare) });
    await printer.add(rows);
    for (const row of rows) addTo(total, row);
  }
  // Programs add up rows themselves: a total row would distort their sums.
  if (flags.output === 'table' && printer?.isEmpty() === false) await printer.add([total]);
  const period = `from ${request.firstDay} to ${request.lastDay}`;
  await printer?.end(`No usage ${period}.`);
  if (flags.output === 'table' && printer?.isEmpty() === false) note(`Usage ${period}, in days of Europe/Amsterdam.`);
}

/** The total row has no other key, whatever rows are grouped by. */
const totalRow = { usage: { localDay: 'total', totals: {} }, cost: {}, before: {}, costBefore: {} };

/** The columns of the groupings. The total row has its name in the first one. */
function keyColumns(by: readonly GroupingName[]): Columns<UsageRow> {
  const columns = by.flatMap((name) => Object.entries<(row: UsageRow) => string>(groupings[name].keys));
  return Object.fromEntries(
    columns.map(([name, textOf], place) => {
      const ofTotal = place === 0 ? 'total' : '';
      return [name, (row: UsageRow) => (row.usage?.localDay === totalRow.usage.localDay ? ofTotal : textOf(row))];
    }),
  );
}

function addTo(total: UsageRow, row: UsageRow): void {
  for (const name of ['requests', 'inputTokens', 'cachedTokens', 'outputTokens'] as const) {
    add(name, total.usage?.totals, row.usage?.totals);
    add(name, total.before, row.before);
  }
  for (const name of ['micros', 'unpricedTokens', 'unpricedCalls', 'computedAfterwardsMicros'] as const) {
    add(name, total.cost, row.cost);
    add(name, total.costBefore, row.costBefore);
  }
}

function add<K extends string>(name: K, sum: Record<K, number> | undefined, part: Record<K, number> | undefined): void {
  if (sum !== undefined && part !== undefined) sum[name] += part[name];
}

function sumColumns(currency: string, compare: boolean): Columns<UsageRow> {
  return {
    requests: ({ usage }) => usage?.totals?.requests ?? 0,
    input: ({ usage }) => usage?.totals?.inputTokens ?? 0,
    cached: { of: ({ usage }) => usage?.totals?.cachedTokens ?? 0, spare: true },
    output: ({ usage }) => usage?.totals?.outputTokens ?? 0,
    tokens: ({ usage }) => tokensOf(usage?.totals),
    ...(compare && { before: ({ before }) => tokensOf(before), change: changeText }),
    ...(currency !== '' && { cost: ({ cost }) => costText(cost, currency) }),
    ...(currency !== '' && compare && { 'cost before': ({ costBefore }) => costText(costBefore, currency) }),
  };
}

function tokensOf(totals: UsageRow['before']): number {
  return (totals?.inputTokens ?? 0) + (totals?.outputTokens ?? 0);
}

/** The change of tokens: "+20 %". */
function changeText({ usage, before }: UsageRow): string {
  const tokensBefore = tokensOf(before);
  if (tokensBefore === 0) return 'new';
  const change = (tokensOf(usage?.totals) - tokensBefore) / tokensBefore;
  return `${change < 0 ? '' : '+'}${percent(change)}`;
}

function costText(cost: UsageRow['cost'], currency: string): string {
  if (cost === undefined) return '–';
  const afterwards = cost.computedAfterwardsMicros;
  const note = afterwards === 0 ? '' : ` (${moneyText(afterwards, currency)} computed afterwards)`;
  const money = `${moneyText(cost.micros, currency)}${note}`;
  const unpriced = [
    ...(cost.unpricedTokens === 0 ? [] : [`${cost.unpricedTokens} tokens`]),
    ...(cost.unpricedCalls === 0 ? [] : [`${cost.unpricedCalls} tool calls`]),
  ];
  if (unpriced.length === 0) return money;
  // Nothing that has a price: that is not free of charge.
  const known = cost.micros === 0 ? '' : `${money} + `;
  return `${known}${unpriced.join(' and ')} without a price`;
}
