import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';
import type { Limiter } from './limiter.ts';
import { limiterOperatorHandlers } from './rpc/limiter-operator-service.ts';
import { limiterHandlers } from './rpc/limiter-service.ts';

export function limiterRoutes(limiter: Limiter, draining: AbortSignal): readonly ServiceRoute[] {
  return [
    serviceRoute(LimiterService, limiterHandlers(limiter, draining)),
    serviceRoute(LimiterOperatorService, limiterOperatorHandlers(limiter)),
  ];
}
