import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { reconcileDay } from './rpc/limiter-operator-service.ts';
import { admit, admitStream, heartbeat, peek, settle } from './rpc/limiter-service.ts';
import type { Limiter } from './service.ts';

export function limiterRoutes(limiter: Limiter, draining: AbortSignal): readonly ServiceRoute[] {
  return [
    serviceRoute(LimiterService, {
      admit: (request) => admit(limiter, request),
      settle: (request) => settle(limiter, request),
      peek: (request) => peek(limiter, request),
      heartbeat: (request) => heartbeat(limiter, request),
      admitStream: (requests) => admitStream(limiter, requests, draining),
    }),
    serviceRoute(LimiterOperatorService, { reconcileDay: (request) => reconcileDay(limiter, request) }),
  ];
}
