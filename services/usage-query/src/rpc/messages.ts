import type { MessageInitShape } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import type { UsageTotalsSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { UsageTotals } from '../periods/usage-periods.ts';

/** @throws GatewayError unless the text is a day of the calendar, such as 2026-11-20. */
export function requireLocalDay(field: string, text: string): void {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  if (date !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)) return;
  throw new GatewayError('invalid_request', `${field} must be a day such as 2026-11-20.`);
}

export function toTotalsMessage(totals: UsageTotals): MessageInitShape<typeof UsageTotalsSchema> {
  return {
    requests: BigInt(totals.requests),
    inputTokens: BigInt(totals.inputTokens),
    cachedTokens: BigInt(totals.cachedTokens),
    outputTokens: BigInt(totals.outputTokens),
  };
}
