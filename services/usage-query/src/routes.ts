import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import { getDayTotal } from './rpc/get-day-total.ts';
import { getUsage } from './rpc/get-usage.ts';
import type { UsageQuery } from './usage-query.ts';

export function usageQueryRoute(query: UsageQuery) {
  return serviceRoute(UsageQueryService, {
    getUsage: (request, context) => getUsage(query, request, context),
    getDayTotal: (request) => getDayTotal(query, request),
  });
}
