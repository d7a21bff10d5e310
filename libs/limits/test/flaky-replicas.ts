import { CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import { afterEach, beforeEach, vi } from 'vitest';
import { FallbackLimits } from '../src/fallback-limits.ts';
import type { RemoteLimits } from '../src/limit-store.ts';

/** Time in these tests advances only when they advance it. */
export function useFakeTimers(): void {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** A replica for each of these stores, which decides by itself while its store is away. */
export function openReplicas(stack: AsyncDisposableStack, remotes: readonly RemoteLimits[]) {
  const ignore = () => undefined;
  const events = { away: ignore, back: ignore, decidedAlone: ignore, settleKept: ignore };
  return remotes.map((remote) =>
    stack.use(new FallbackLimits({ remote, events, failureMode: 'local', localMaxMs: Infinity })),
  );
}

/** Checks a request of the single token. */
export async function isAdmitted(replica: FallbackLimits, requestId: string, requestsPerMinute: number) {
  const check = { key: 'key', requestId, limits: { requestsPerMinute }, costKind: CostKind.REQUEST_AND_TOKENS };
  return (await replica.admit(check)).refusal === undefined;
}

export function mostInAnyMinute(atMs: readonly number[]): number {
  return Math.max(0, ...atMs.map((from) => atMs.filter((each) => each >= from && each < from + 60_000).length));
}
