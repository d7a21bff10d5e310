import type { MessageInitShape } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import {
  type ReportUsageRequest,
  UsageGrouping,
  type UsageReportRowSchema,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { addLocalDays } from '@gateway/time';
import type { ReportRow, UsageReport } from '../store/usage-report.ts';
import { requireLocalDay, toTotalsMessage } from './messages.ts';

const maxDays = 3_660;

/** One page of what all tokens, or one, used. */
export async function reportUsage(report: UsageReport, request: ReportUsageRequest) {
  const { firstDay: first, lastDay: last, tokenId, grouping, pageToken } = request;
  requireLocalDay('first_day', first);
  requireLocalDay('last_day', last);
  if (last < first) throw new GatewayError('invalid_request', 'last_day is before first_day.');
  if (last > addLocalDays(first, maxDays)) {
    throw new GatewayError('invalid_request', `A report covers ${maxDays} days at most.`);
  }
  const period = { first, last, ...(tokenId === '' ? {} : { tokenId }) };
  const { rows, next } = await pageOf(report, grouping, { ...period, after: pageToken });
  return { rows: rows.map(toRowMessage), nextPageToken: next ?? '' };
}

function pageOf(report: UsageReport, grouping: UsageGrouping, page: Parameters<UsageReport['byDay']>[0]) {
  switch (grouping) {
    case UsageGrouping.UNSPECIFIED:
    case UsageGrouping.DAY:
      return report.byDay(page);
    case UsageGrouping.TOKEN:
      return report.byToken(page);
    case UsageGrouping.MODEL:
      return report.byModel(page);
    default:
      throw new GatewayError('invalid_request', 'grouping is not known.');
  }
}

function toRowMessage({ totals, ...key }: ReportRow): MessageInitShape<typeof UsageReportRowSchema> {
  return { ...key, totals: toTotalsMessage(totals) };
}
