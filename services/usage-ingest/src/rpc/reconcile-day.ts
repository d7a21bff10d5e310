import type { MessageInitShape } from '@bufbuild/protobuf';
import { type EventDays, EventDaysBusyError } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { ReconcileDayRequest, SumDifferenceSchema } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { UsageTotalsSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { isLocalDay } from '@gateway/time';
import type { DailySum } from '../recording/ledger-entry.ts';
import { checkDay, type Difference } from '../store/check-day.ts';

const maxShown = 1_000;

/** Compares the sums of one day with its events, and mends them when asked to. */
export async function reconcileDay(days: EventDays, { localDay, repair }: ReconcileDayRequest) {
  if (!isLocalDay(localDay)) throw new GatewayError('invalid_request', 'local_day must be a day such as 2026-11-20.');
  const differences = await checkDay(days, localDay, { repair }).catch(explainBusy);
  if (differences === undefined) return { eventsKept: false };
  return {
    eventsKept: true,
    differences: differences.slice(0, maxShown).map(toDifferenceMessage),
    differenceCount: differences.length,
    repaired: repair && differences.length > 0,
  };
}

function explainBusy(thrown: unknown): never {
  if (!(thrown instanceof EventDaysBusyError)) throw thrown;
  throw new GatewayError('internal_error', 'Another check of the ledger runs. Try again when it has ended.');
}

function toDifferenceMessage({ recorded, counted }: Difference): MessageInitShape<typeof SumDifferenceSchema> {
  const { token_id: tokenId, provider, model } = recorded;
  return { tokenId, provider, model, recorded: toTotalsMessage(recorded), counted: toTotalsMessage(counted) };
}

function toTotalsMessage(sum: DailySum): MessageInitShape<typeof UsageTotalsSchema> {
  return {
    requests: BigInt(sum.requests),
    inputTokens: BigInt(sum.input_tokens),
    cachedTokens: BigInt(sum.cached_tokens),
    outputTokens: BigInt(sum.output_tokens),
  };
}
