import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import type { GetUsageRequest, UsagePeriodSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { CallContext } from '@gateway/rpc';
import { addLocalDays, localDayOf } from '@gateway/time';
import { daysOfPeriods, type UsagePeriod, usagePeriods } from '../periods/usage-periods.ts';
import type { DayRange } from '../store/usage-reader.ts';
import { waitForRequests } from '../store/wait-for-requests.ts';
import type { UsageQuery } from '../usage-query.ts';
import { toTotalsMessage } from './totals-message.ts';

/** More than any edge has of one token between the end of a request and its place in the ledger. */
const maxIncludedRequests = 1_000;

/** Today and the last seven local days of one token. */
export async function getUsage(
  { reader, clock, waitMs, flush }: UsageQuery,
  { tokenId, includeRequestIds }: GetUsageRequest,
  { signal }: CallContext,
) {
  if (tokenId === '') throw new GatewayError('invalid_request', 'token_id is empty.');
  if (includeRequestIds.length > maxIncludedRequests) {
    throw new GatewayError('invalid_request', `include_request_ids takes ${maxIncludedRequests} ids at most.`);
  }
  const admitted = daysOfRequestsThatJustEnded(clock.nowMs());
  const missing = await waitForRequests(reader, includeRequestIds, { waitMs, signal, flush, ...admitted });
  const nowMs = clock.nowMs();
  const { first, today } = daysOfPeriods(nowMs);
  const periods = usagePeriods(await reader.days({ tokenId, first, last: today }), nowMs);
  return {
    today: toPeriodMessage(periods.today),
    lastSevenDays: toPeriodMessage(periods.lastSevenDays),
    missingRequestIds: [...missing],
  };
}

/** No request runs for a whole day, and no clock is wrong by one: three days of the ledger are enough to look through. */
function daysOfRequestsThatJustEnded(nowMs: number): DayRange {
  const today = localDayOf(nowMs);
  return { first: addLocalDays(today, -1), last: addLocalDays(today, 1) };
}

function toPeriodMessage({ sinceMs, totals, byModel }: UsagePeriod): MessageInitShape<typeof UsagePeriodSchema> {
  return {
    since: timestampFromMs(sinceMs),
    totals: toTotalsMessage(totals),
    byModel: byModel.map((usage) => ({ ...usage, totals: toTotalsMessage(usage.totals) })),
  };
}
