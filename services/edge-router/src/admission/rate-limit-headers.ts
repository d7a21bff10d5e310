import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import { formatDuration } from './format-duration.ts';

/** The `x-ratelimit-*` headers of a request: a pair's three are absent when its limit is not set. @see spec "Rate-limit headers" */
export function rateLimitHeaders({ requests, tokens }: LimitStatus, nowMs: number): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  if (requests !== undefined) {
    headers['x-ratelimit-limit-requests'] = String(requests.limit);
    headers['x-ratelimit-remaining-requests'] = String(requests.remaining);
    headers['x-ratelimit-reset-requests'] = formatDuration(untilMs(requests.emptyAt, nowMs));
  }
  if (tokens !== undefined) {
    headers['x-ratelimit-limit-tokens'] = String(tokens.limit);
    headers['x-ratelimit-remaining-tokens'] = String(tokens.remaining);
    headers['x-ratelimit-reset-tokens'] = formatDuration(untilMs(tokens.resetsAt, nowMs));
  }
  return headers;
}

function untilMs(at: Parameters<typeof timestampMs>[0] | undefined, nowMs: number): number {
  return at === undefined ? 0 : timestampMs(at) - nowMs;
}
