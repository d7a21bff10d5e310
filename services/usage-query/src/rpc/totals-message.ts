import type { MessageInitShape } from '@bufbuild/protobuf';
import type { UsageTotalsSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { UsageTotals } from '../periods/usage-periods.ts';

export function toTotalsMessage(totals: UsageTotals): MessageInitShape<typeof UsageTotalsSchema> {
  return {
    requests: BigInt(totals.requests),
    inputTokens: BigInt(totals.inputTokens),
    cachedTokens: BigInt(totals.cachedTokens),
    outputTokens: BigInt(totals.outputTokens),
  };
}
