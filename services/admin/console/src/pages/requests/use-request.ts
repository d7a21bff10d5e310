import { Code, ConnectError } from '@connectrpc/connect';
import { useQuery } from '@connectrpc/connect-query';
import { RequestService } from '@gateway/proto/admin/v1/request_service_pb.js';
import { mayPass } from '../../api/problem.ts';

/**
 * The request that a text means. If it may still run, or has just ended, it is fetched again until
 * the log has it, which may be after the ledger has it.
 */
export function useRequest(text: string) {
  const { failureCount, failureReason, ...answer } = useQuery(
    RequestService.method.getRequest,
    { requestId: text },
    {
      retry: (failures, error) =>
        (failures < mostTries && isToCome(text, error, Date.now())) || (failures < 2 && mayPass(error)),
      retryDelay: waitMs,
      refetchInterval: ({ state: { data, dataUpdateCount } }) =>
        data !== undefined &&
        data.request?.request?.receivedAtMs === undefined &&
        isRecent(text, Date.now()) &&
        dataUpdateCount < mostTries
          ? waitMs(dataUpdateCount)
          : false,
    },
  );
  const mayRun = failureCount >= tries && isToCome(text, failureReason, Date.now());
  return { ...answer, mayRun: answer.data === undefined && answer.error === null && mayRun };
}

/**
 * Whether the log may have it soon: requests are logged when they have ended, and their ids contain
 * their start.
 */
export function isToCome(text: string, error: unknown, nowMs: number): boolean {
  return ConnectError.from(error).code === Code.NotFound && isRecent(text, nowMs);
}

/**
 * How long to wait after so many tries: at first a moment, later half a minute. A mistyped id looks
 * like that of a running request.
 */
export function waitMs(tries: number): number {
  return Math.min(30_000, againMs * 1.5 ** tries);
}

function isRecent(text: string, nowMs: number): boolean {
  const [, high = '', low = ''] =
    /([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/i.exec(text) ?? [];
  const ageMs = nowMs - Number.parseInt(high + low, 16);
  return Math.abs(ageMs) < longestMs;
}

const againMs = 750;
/** After so many failed tries, the page says that the request may still run. */
const tries = 3;
/** After so many, about as long as the longest answer usually takes, the page no longer asks. */
export const mostTries = 40;
/** Clocks differ, and answers take time. */
const longestMs = 3_600_000;
