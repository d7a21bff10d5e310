import { EventDaysBusyError, totalsOf } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { UsageLedgerService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { isLocalDay } from '@gateway/time';
import { replayDeadLetters } from '../replay/replay-dead-letters.ts';
import { checkDay } from '../store/check-day.ts';
import type { UsageLedger } from '../store/usage-ledger.ts';

const maxDifferencesShown = 1_000;

export function usageLedgerHandlers(ledger: UsageLedger): Handlers<typeof UsageLedgerService> {
  return {
    /** Compares the sums of one day with its events, and repairs them on request. */
    async reconcileDay({ localDay, repair }) {
      if (!isLocalDay(localDay)) {
        throw new GatewayError('invalid_request', 'local_day must be a day such as 2026-11-20.');
      }
      const differences = await checkDay(ledger.days, localDay, { repair }).catch((thrown: unknown) => {
        if (!(thrown instanceof EventDaysBusyError)) throw thrown;
        throw new GatewayError(
          'internal_error',
          'Another check of the ledger is running. Try again when it has ended.',
        );
      });
      if (differences === undefined) return { eventsKept: false };
      return {
        eventsKept: true,
        differences: differences.slice(0, maxDifferencesShown).map(({ recorded, counted }) => {
          const { token_id: tokenId, provider, model, account_id: accountId, group_id: groupId } = recorded;
          const key = { tokenId, provider, model, accountId, groupId };
          return { ...key, recorded: totalsOf(recorded), counted: totalsOf(counted) };
        }),
        differenceCount: differences.length,
        repaired: repair && differences.length > 0,
      };
    },
    replayDeadLetters: (request) => replayDeadLetters(ledger, request),
  };
}
