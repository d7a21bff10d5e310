import type { LimitStore } from '@gateway/limits';
import { createLogger } from '@gateway/telemetry';
import { afterEach, beforeEach, vi } from 'vitest';
import { FallbackLimitStore } from '../src/store/fallback-limit-store.ts';
import { PlainStore } from './plain-store.ts';
import { watchedMetrics } from './watched-metrics.ts';

/** Time in these tests advances only when they advance it. */
export function useFakeTimers(): void {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** A limiter for each of these stores, which decides by itself while its store is away. */
export function openLimiters(stack: AsyncDisposableStack, remotes: readonly LimitStore[]) {
  const options = { leastReplicas: 1, failureMode: 'local', localMaxMs: Infinity, maxKept: 1_000 } as const;
  return remotes.map((remote) => {
    const runtime = { metrics: watchedMetrics().metrics, logger: createLogger('limiter', 'silent') };
    return stack.use(new FallbackLimitStore({ remote, ...runtime, ...options }));
  });
}

/** Checks a request of the single token. */
export async function isAdmitted(limiter: LimitStore, requestId: string, requestsPerMinute: number): Promise<boolean> {
  const decision = await new PlainStore(limiter).admit({
    key: 'key',
    requestId,
    limits: { requestsPerMinute, tokensPerDay: undefined },
    costKind: 'request_and_tokens',
    hasLedger: false,
  });
  return decision.kind === 'admitted';
}

export function mostInAnyMinute(atMs: readonly number[]): number {
  return Math.max(0, ...atMs.map((from) => atMs.filter((each) => each >= from && each < from + 60_000).length));
}
