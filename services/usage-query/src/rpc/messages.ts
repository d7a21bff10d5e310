import type { MessageInitShape } from '@bufbuild/protobuf';
import type { UsageDailyTable } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { UsageTotalsSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { isLocalDay } from '@gateway/time';
import type { UsageTotals } from '../periods/usage-periods.ts';

/** @throws GatewayError unless the text is a day of the calendar, such as 2026-11-20. */
export function requireLocalDay(field: string, text: string): void {
  if (isLocalDay(text)) return;
  throw new GatewayError('invalid_request', `${field} must be a day such as 2026-11-20.`);
}

export type SummedColumns = Pick<UsageDailyTable, 'requests' | 'input_tokens' | 'cached_tokens' | 'output_tokens'>;

export function toTotals({ requests, input_tokens, cached_tokens, output_tokens }: SummedColumns): UsageTotals {
  return { requests, inputTokens: input_tokens, cachedTokens: cached_tokens, outputTokens: output_tokens };
}

export function toTotalsMessage(totals: UsageTotals): MessageInitShape<typeof UsageTotalsSchema> {
  return {
    requests: BigInt(totals.requests),
    inputTokens: BigInt(totals.inputTokens),
    cachedTokens: BigInt(totals.cachedTokens),
    outputTokens: BigInt(totals.outputTokens),
  };
}
