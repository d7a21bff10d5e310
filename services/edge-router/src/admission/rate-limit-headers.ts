import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import type { LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';

/** The `x-ratelimit-*` headers of a request: a pair's three are absent when its limit is not set. @see spec "Rate-limit headers" */
export function rateLimitHeaders({ requests, tokens }: LimitStatus, nowMs: number): Readonly<Record<string, string>> {
  return {
    ...(requests && threeOf('requests', requests, requests.emptyAt, nowMs)),
    ...(tokens && threeOf('tokens', tokens, tokens.resetsAt, nowMs)),
  };
}

function threeOf(
  kind: 'requests' | 'tokens',
  { limit, remaining }: { readonly limit: number | bigint; readonly remaining: number | bigint },
  resetAt: Timestamp | undefined,
  nowMs: number,
): Record<string, string> {
  return {
    [`x-ratelimit-limit-${kind}`]: String(limit),
    [`x-ratelimit-remaining-${kind}`]: String(remaining),
    [`x-ratelimit-reset-${kind}`]: formatDuration(resetAt === undefined ? 0 : timestampMs(resetAt) - nowMs),
  };
}

/** In Go's style, rounded up to whole seconds: `42s`, `1m0s`, `7h49m35s`; `0s` when there is nothing to wait for. */
export function formatDuration(durationMs: number): string {
  const seconds = Math.max(0, Math.ceil(durationMs / 1_000));
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}
