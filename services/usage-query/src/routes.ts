import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { findRequest } from './rpc/find-request.ts';
import { getDayTotal } from './rpc/get-day-total.ts';
import { getUsage } from './rpc/get-usage.ts';
import { reportUsage } from './rpc/report-usage.ts';
import type { RequestFinder } from './store/request-finder.ts';
import type { UsageReport } from './store/usage-report.ts';
import type { UsageQuery } from './usage-query.ts';

export interface LedgerReaders {
  readonly report: UsageReport;
  readonly finder: RequestFinder;
}

export function usageQueryRoutes(query: UsageQuery, { report, finder }: LedgerReaders): readonly ServiceRoute[] {
  return [
    serviceRoute(UsageQueryService, {
      getUsage: (request, context) => getUsage(query, request, context),
      getDayTotal: (request) => getDayTotal(query, request),
    }),
    serviceRoute(UsageReportService, {
      reportUsage: (request) => reportUsage(report, request),
      findRequest: (request) => findRequest(finder, request),
    }),
  ];
}
