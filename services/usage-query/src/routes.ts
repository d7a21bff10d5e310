import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import type { RequestFeed } from './request-log/request-feed.ts';
import { type UsageQueryParts, usageQueryHandlers } from './rpc/usage-query-service.ts';
import { usageReportHandlers } from './rpc/usage-report-service.ts';

export function usageQueryRoutes(parts: UsageQueryParts, feed: RequestFeed) {
  return [
    serviceRoute(UsageQueryService, usageQueryHandlers(parts)),
    serviceRoute(UsageReportService, usageReportHandlers(parts.database, feed)),
  ];
}
