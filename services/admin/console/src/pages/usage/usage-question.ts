import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { addressOf } from '../../frame/address.ts';
import type { ExportFormat } from '../../ui/export-links.tsx';
import type { MeasureName } from './measures.ts';
import { type Period, periodsOf } from './usage-period.ts';

/** The query of a usage report, as it is in the page's address. */
export interface UsageQuestion extends Period {
  /** The name of the period; empty for days that the operator chose. */
  readonly period: string;
  readonly by: GroupName;
  readonly measure: MeasureName;
  readonly compare: boolean;
  readonly token: string;
  readonly model: string;
  readonly account: string;
  /** Not together with an account. */
  readonly group: string;
}

export type GroupName = keyof typeof groups;

export const groups = {
  day: { label: 'Day', grouping: UsageGrouping.DAY },
  model: { label: 'Model', grouping: UsageGrouping.MODEL },
  token: { label: 'Token', grouping: UsageGrouping.TOKEN },
  account: { label: 'Account', grouping: UsageGrouping.ACCOUNT },
  group: { label: 'Group', grouping: UsageGrouping.GROUP },
} as const;

const measures: readonly MeasureName[] = ['tokens', 'requests', 'money'];

/** @param today the current local day. */
export function questionOf(params: URLSearchParams, today: string): UsageQuestion {
  const get = (name: string) => params.get(name) ?? '';
  const [by, measure] = [get('by'), get('measure')];
  const isOwn = get('from') !== '' || get('to') !== '';
  const named = periodsOf(today)[get('period')] ?? periodsOf(today)['7d'];
  const period = isOwn ? '' : get('period') in periodsOf(today) ? get('period') : '7d';
  return {
    period,
    firstDay: isOwn ? get('from') : (named?.firstDay ?? today),
    lastDay: isOwn ? get('to') : (named?.lastDay ?? today),
    by: isGroup(by) ? by : 'day',
    measure: measures.find((name) => name === measure) ?? 'tokens',
    compare: get('compare') === 'yes',
    token: get('token'),
    model: get('model'),
    account: get('account'),
    group: get('group'),
  };
}

/** The address of a query. Default values are left out. */
export function usageLink({ period, firstDay, lastDay, by, measure, compare, ...only }: UsageQuestion): string {
  const { token, model, account, group } = only;
  return addressOf('/usage', {
    ...(period === '' ? { from: firstDay, to: lastDay } : { period: period === '7d' ? '' : period }),
    by: by === 'day' ? '' : by,
    measure: measure === 'tokens' ? '' : measure,
    compare: compare ? 'yes' : '',
    ...{ token, model, account, group },
  });
}

/** The address of an export of all rows. */
export function exportLink(
  { firstDay, lastDay, by, token, model, account, group }: UsageQuestion,
  format: ExportFormat | 'focus',
): string {
  const rows = { first_day: firstDay, last_day: lastDay, grouping: by, token_id: token, model };
  return addressOf('/export/usage', { ...rows, account_id: account, group_id: group, format });
}

function isGroup(name: string): name is GroupName {
  return Object.hasOwn(groups, name);
}
