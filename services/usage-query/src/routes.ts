import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { findRequest } from './rpc/find-request.ts';
import { getDayTotal } from './rpc/get-day-total.ts';
import { getUsage, type UsageParts } from './rpc/get-usage.ts';
import { listRequests } from './rpc/list-requests.ts';
import { reportUsage } from './rpc/report-usage.ts';
import type { RequestLogReader } from './store/request-log-reader.ts';
import type { UsageReport } from './store/usage-report.ts';

export interface UsageQueryParts extends UsageParts {
  readonly report: UsageReport;
  readonly log: RequestLogReader;
}

export function usageQueryRoutes(parts: UsageQueryParts): readonly ServiceRoute[] {
  return [
    serviceRoute(UsageQueryService, {
      getUsage: (request) => getUsage(parts, request),
      getDayTotal: (request) => getDayTotal(parts.reader, request),
    }),
    serviceRoute(UsageReportService, {
      reportUsage: (request) => reportUsage(parts.report, request),
      findRequest: (request) => findRequest(parts, request),
      listRequests: (request) => listRequests(parts.log, request),
    }),
  ];
}
