import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';
import type { Limiter } from './limiter.ts';
import { admit } from './rpc/admit.ts';
import { admitStream } from './rpc/admit-stream.ts';
import { heartbeat } from './rpc/heartbeat.ts';
import { peek } from './rpc/peek.ts';
import { reconcileDay } from './rpc/reconcile-day.ts';
import { settle } from './rpc/settle.ts';

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
