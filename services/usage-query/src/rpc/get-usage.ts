import type { GatewayDatabase } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { GetUsageRequest } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Clock } from '@gateway/time';
import type { LedgerProgress } from '@gateway/usage-stream';
import { daysOfPeriods, usagePeriods } from '../periods/usage-periods.ts';
import { toTotals } from './messages.ts';

export interface UsageParts {
  readonly database: GatewayDatabase;
  readonly clock: Clock;
  /** How long is waited for the ledger. */
  readonly waitMs: number;
  /** Absent where usage goes straight to the ledger. */
  readonly progress?: Pick<LedgerProgress, 'untilRecorded'>;
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
  return usagePeriods(days, nowMs);
}
