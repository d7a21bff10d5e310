import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { findRequest } from './rpc/find-request.ts';
import { getDayTotal } from './rpc/get-day-total.ts';
import { getUsage, type UsageParts } from './rpc/get-usage.ts';
import { listRequests } from './rpc/list-requests.ts';
import { reportUsage } from './rpc/report-usage.ts';
import { type WatchParts, watchRequests } from './rpc/watch-requests.ts';

export function usageQueryRoutes(parts: UsageParts & WatchParts): readonly ServiceRoute[] {
  const { database } = parts;
  return [
    serviceRoute(UsageQueryService, {
      getUsage: (request) => getUsage(parts, request),
      getDayTotal: (request) => getDayTotal(database, request),
    }),
    serviceRoute(UsageReportService, {
      reportUsage: (request) => reportUsage(database, request),
      findRequest: (request) => findRequest(database, request),
      listRequests: (request) => listRequests(database, request),
      watchRequests: (request, context) => watchRequests(parts, request, context),
    }),
  ];
}
