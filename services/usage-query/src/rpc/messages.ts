import type { UsageDailyTable } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { isLocalDay } from '@gateway/time';
import type { UsageTotals } from '../periods/usage-periods.ts';

/** @throws GatewayError unless the text is a day of the calendar, such as 2026-11-20. */
export function requireLocalDay(field: string, text: string): void {
  if (isLocalDay(text)) return;
  throw new GatewayError('invalid_request', `${field} must be a day such as 2026-11-20.`);
}

export type SummedColumns = Pick<UsageDailyTable, 'requests' | 'input_tokens' | 'cached_tokens' | 'output_tokens'>;

export function toTotals(row: SummedColumns): UsageTotals {
  return {
    requests: BigInt(row.requests),
    inputTokens: BigInt(row.input_tokens),
    cachedTokens: BigInt(row.cached_tokens),
    outputTokens: BigInt(row.output_tokens),
  };
}
