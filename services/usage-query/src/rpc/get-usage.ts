import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { GatewayDatabase } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { GetUsageRequest, UsagePeriodSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Clock } from '@gateway/time';
import { daysOfPeriods, type UsagePeriod, usagePeriods } from '../periods/usage-periods.ts';
import { toTotals } from './messages.ts';

/** How far the ledger has come with what is published. */
export interface LedgerProgress {
  /** Resolves when all that was published before the call is in the ledger. @throws when it is not in time, or not known. */
  untilRecorded(timeoutMs: number): Promise<void>;
}

export interface UsageParts {
  readonly database: GatewayDatabase;
  readonly clock: Clock;
  /** How long is waited for the ledger. */
  readonly waitMs: number;
  /** Absent where usage goes straight to the ledger. */
  readonly progress?: LedgerProgress;
  readonly onLate: (fault: unknown) => void;
}

/** Today and the last seven local days of one token, with everything that ended before the call. */
export async function getUsage(
  { database, clock, waitMs, progress, onLate }: UsageParts,
  { tokenId }: Pick<GetUsageRequest, 'tokenId'>,
) {
  if (tokenId === '') throw new GatewayError('invalid_request', 'token_id is empty.');
  // What is there is better than nothing when the ledger lags.
  await progress?.untilRecorded(waitMs).catch(onLate);
  const nowMs = clock.nowMs();
  const { first, today } = daysOfPeriods(nowMs);
  const rows = await database
    .selectFrom('usage_daily')
    .select(['local_day', 'provider', 'model', 'requests', 'input_tokens', 'cached_tokens', 'output_tokens'])
    .where('token_id', '=', tokenId)
    .where('local_day', '>=', first)
    .where('local_day', '<=', today)
    .execute();
  const days = rows.map((row) => ({ ...row, localDay: row.local_day, totals: toTotals(row) }));
  const { today: ofToday, lastSevenDays } = usagePeriods(days, nowMs);
  return { today: toPeriodMessage(ofToday), lastSevenDays: toPeriodMessage(lastSevenDays) };
}

function toPeriodMessage({ sinceMs, totals, byModel }: UsagePeriod): MessageInitShape<typeof UsagePeriodSchema> {
  return { since: timestampFromMs(sinceMs), totals, byModel: [...byModel] };
}
