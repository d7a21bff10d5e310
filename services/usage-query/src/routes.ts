import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { getDayTotal } from './rpc/get-day-total.ts';
import { getUsage } from './rpc/get-usage.ts';
import { reportUsage } from './rpc/report-usage.ts';
import type { UsageReport } from './store/usage-report.ts';
import type { UsageQuery } from './usage-query.ts';

export function usageQueryRoutes(query: UsageQuery, report: UsageReport): readonly ServiceRoute[] {
  return [
    serviceRoute(UsageQueryService, {
      getUsage: (request, context) => getUsage(query, request, context),
      getDayTotal: (request) => getDayTotal(query, request),
    }),
    serviceRoute(UsageReportService, {
      reportUsage: (request) => reportUsage(report, request),
    }),
  ];
}
