import { Socket } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { PriceBook } from '@gateway/prices';
import { TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { Admission } from '../admission/admit.ts';
import { BodyMemory } from '../body/body-memory.ts';
import { EdgeRequest } from '../body/read-body.ts';
import { Call, type CallPeers, type CallRoute } from '../call.ts';
import { EdgeResponse } from '../http/respond.ts';

export const admission: Admission = { admittedAtMs: 1_000, localDay: '2026-11-20', headers: {} };

const usualRoute: CallRoute = {
  path: '/v1/chat/completions',
  errorDialect: 'chat',
  cost: CostKind.REQUEST_AND_TOKENS,
  operation: 'chat',
};

const idlePeers: CallPeers = {
  outbox: { open: () => undefined, close: () => undefined, log: () => undefined, finish: async () => undefined },
  limiter: { settle: async () => undefined },
  requestLog: { takes: () => false },
  config: { traceSlowMs: 10_000 },
  holds: new Set(),
  pricing: { prices: new PriceBook(), neighboursOf: () => [] },
  patienceMs: Number.POSITIVE_INFINITY,
};

export interface TestCallOptions {
  readonly id?: string;
  readonly route?: Partial<CallRoute>;
  readonly peers?: Partial<CallPeers>;
  readonly response?: EdgeResponse;
  /** Milliseconds from any point of time. */
  readonly readMonotonicMs?: () => number;
}

/** A request that has just arrived, with the id `r`. */
export function newCall({ id = 'r', route, peers, response, readMonotonicMs }: TestCallOptions = {}): Call {
  const answer = response ?? new EdgeResponse(new EdgeRequest(new Socket()));
  Object.assign(answer, { requestId: id });
  return new Call({ ...usualRoute, ...route }, answer, { ...idlePeers, ...peers }, readMonotonicMs);
}

/** Authenticated and admitted. */
export function admittedCall(options: TestCallOptions = {}, token = create(TokenSchema, { tokenId: 't' })): Call {
  const call = newCall(options);
  call.onAuthenticated(token);
  admitCall(call);
  return call;
}

/** Admits a call with room for its body. */
export function admitCall(call: Call, of: Admission = admission): void {
  const allocation = memory.open(call.token.tokenId, call.signal);
  const pace = { idleMs: 1_000, leastBytesPerSecond: 1, windowMs: 1_000 };
  call.onAdmitted(of, { limitBytes: 1_000, acceptsCompression: false, pace, allocation });
}

const memory = new BodyMemory({ limitBytes: 1_000, largestBodyBytes: 1_000, waitMs: 1_000 });
