import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import type { GetUsageRequest, UsagePeriodSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Clock } from '@gateway/time';
import { daysOfPeriods, type UsagePeriod, usagePeriods } from '../periods/usage-periods.ts';
import type { UsageReader } from '../store/usage-reader.ts';
import { toTotalsMessage } from './messages.ts';

/** How far the ledger has come with what is published. */
export interface LedgerProgress {
  /** Resolves when all that was published before the call is in the ledger. @throws when it is not in time, or not known. */
  untilRecorded(timeoutMs: number): Promise<void>;
}

export interface UsageParts {
  readonly reader: UsageReader;
  readonly clock: Clock;
  /** How long is waited for the ledger. */
  readonly waitMs: number;
  /** Absent where usage goes straight to the ledger. */
  readonly progress?: LedgerProgress;
  readonly onLate: (fault: unknown) => void;
}

/** Today and the last seven local days of one token, with everything that ended before the call. */
export async function getUsage(
  { reader, clock, waitMs, progress, onLate }: UsageParts,
  { tokenId }: Pick<GetUsageRequest, 'tokenId'>,
) {
  if (tokenId === '') throw new GatewayError('invalid_request', 'token_id is empty.');
  // What is there is better than nothing when the ledger lags.
  await progress?.untilRecorded(waitMs).catch(onLate);
  const nowMs = clock.nowMs();
  const { first, today } = daysOfPeriods(nowMs);
  const periods = usagePeriods(await reader.days({ tokenId, first, last: today }), nowMs);
  return { today: toPeriodMessage(periods.today), lastSevenDays: toPeriodMessage(periods.lastSevenDays) };
}

function toPeriodMessage({ sinceMs, totals, byModel }: UsagePeriod): MessageInitShape<typeof UsagePeriodSchema> {
  return {
    since: timestampFromMs(sinceMs),
    totals: toTotalsMessage(totals),
    byModel: byModel.map((usage) => ({ ...usage, totals: toTotalsMessage(usage.totals) })),
  };
}
