import { type EventDays, EventDaysBusyError } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { ReconcileDayRequest } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { isLocalDay } from '@gateway/time';
import type { DailySum } from '../recording/ledger-entry.ts';
import { checkDay } from '../store/check-day.ts';

const maxShown = 1_000;

/** Compares the sums of one day with its events, and mends them when asked to. */
export async function reconcileDay(days: EventDays, { localDay, repair }: ReconcileDayRequest) {
  if (!isLocalDay(localDay)) throw new GatewayError('invalid_request', 'local_day must be a day such as 2026-11-20.');
  const differences = await checkDay(days, localDay, { repair }).catch((thrown: unknown) => {
    if (!(thrown instanceof EventDaysBusyError)) throw thrown;
    throw new GatewayError('internal_error', 'Another check of the ledger runs. Try again when it has ended.');
  });
  if (differences === undefined) return { eventsKept: false };
  return {
    eventsKept: true,
    differences: differences.slice(0, maxShown).map(({ recorded, counted }) => {
      const { token_id: tokenId, provider, model } = recorded;
      return { tokenId, provider, model, recorded: totalsOf(recorded), counted: totalsOf(counted) };
    }),
    differenceCount: differences.length,
    repaired: repair && differences.length > 0,
  };
}

function totalsOf(sum: DailySum) {
  return {
    requests: BigInt(sum.requests),
    inputTokens: BigInt(sum.input_tokens),
    cachedTokens: BigInt(sum.cached_tokens),
    outputTokens: BigInt(sum.output_tokens),
  };
}
