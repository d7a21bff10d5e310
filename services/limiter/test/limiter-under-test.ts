import { randomUUID } from 'node:crypto';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { type Client, directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { roomMs } from '@gateway/testkit/room';
import { localDayOf } from '@gateway/time';
import { readStandAloneLimiterConfig } from '../src/config.ts';
import { createLimiterService, type LimiterPeers } from '../src/service.ts';
import { openSharedLimitStore } from '../src/store/shared-limit-store.ts';

export type LimiterClient = Client<typeof LimiterService>;

export interface LimiterOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly usageQuery?: LimiterPeers['usageQuery'];
}

/** A limiter as it runs on its own, but with callers in the same process. */
export async function startLimiter(redisUrl: string, { env = {}, usageQuery }: LimiterOptions = {}) {
  const metrics = new Metrics();
  const runtime = { logger: createLogger('limiter', 'silent'), metrics };
  const config = readStandAloneLimiterConfig({
    REDIS_URL: redisUrl,
    ...env,
  });
  await using stack = new AsyncDisposableStack();
  const store = openSharedLimitStore(config, runtime, stack);
  const service = stack.use(createLimiterService(config, { usageQuery }, runtime, { store }));
  await service.start();
  const opened = stack.move();
  return {
    service,
    client: directClientOf(service.routes, LimiterService),
    /** The value of a metric `gateway_limiter_<name>` without labels. */
    metric: async (name: string) =>
      (await metrics.registry.getSingleMetric(`gateway_limiter_${name}`)?.get())?.values[0]?.value,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export type LimiterUnderTest = Awaited<ReturnType<typeof startLimiter>>;

/** Fails a call that hangs; far above the time limit for Redis. */
export const deadline = { timeoutMs: roomMs(5_000) };

export const freshKey = () => `test:${randomUUID()}`;

export const today = () => localDayOf(Date.now());

/** What a call fails with while Redis is away: gRPC's UNAVAILABLE, and how long to wait. */
export const redisIsAway = { code: 'providers_unavailable', retryAfterMs: 1_000 };

/** Makes this many concurrent requests. Fails when one of the calls does. */
export function admitMany({ client }: LimiterUnderTest, key: string, count: number, requestsPerMinute = 5) {
  const limits = { requestsPerMinute, tokensPerDay: 1_000 };
  return Promise.all(
    Array.from({ length: count }, async () => {
      const requestId = randomUUID();
      const { status, refusal } = await client.admit({ key, requestId, limits }, deadline);
      return { requestId, status, isAdmitted: refusal === undefined };
    }),
  );
}
