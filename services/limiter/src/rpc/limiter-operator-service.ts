import { GatewayError } from '@gateway/errors';
import { daySpan } from '@gateway/limits';
import type { LimiterOperatorService, ReconcileDayRequest } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import type { Caller, Handlers } from '@gateway/rpc';
import { epochMs } from '@gateway/time';
import type { Limiter } from '../limiter.ts';
import { dayState, readKey, readLocalDay } from './read-terms.ts';

export function limiterOperatorHandlers(limiter: Limiter): Handlers<typeof LimiterOperatorService> {
  return { reconcileDay: (request, { caller }) => reconcileDay(limiter, request, caller) };
}

/** Compares a day's counter with the ledger and corrects it. */
async function reconcileDay({ totals }: Limiter, request: ReconcileDayRequest, caller: Caller | undefined) {
  const key = readKey(request.key, caller);
  const groupKey = request.groupKey === '' ? undefined : readKey(request.groupKey, caller);
  const localDay = readLocalDay(request.localDay);
  if (!totals.covers(key)) {
    throw new GatewayError(
      'invalid_request',
      'key must have the form token:<id> or group:<id>: the ledger has no other keys.',
    );
  }
  if (dayState(localDay, epochMs()) !== 'open') {
    throw new GatewayError('invalid_request', 'local_day must be today or the day before.');
  }
  const reloaded = await totals.reload({ key, groupKey, span: daySpan(localDay) }, { force: true });
  if (reloaded === undefined)
    throw new GatewayError('internal_error', 'The limit store or the ledger does not answer.');
  const { usedTokensBefore, usedTokensAfter, pendingTokens } = reloaded;
  return { usedTokensBefore, usedTokensAfter, pendingTokens };
}
