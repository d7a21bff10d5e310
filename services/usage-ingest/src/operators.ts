import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { EventDaysBusyError } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import {
  type ReconcileDayRequest,
  type ReplayDeadLettersRequest,
  UsageLedgerService,
} from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import { isLocalDay } from '@gateway/time';
import type { DailySum } from './recording/ledger-entry.ts';
import { replayLetter } from './replay/replay-letter.ts';
import { checkDay } from './store/check-day.ts';
import type { UsageLedger } from './store/usage-ledger.ts';

/** What operators may ask of the ledger. */
export function usageLedgerRoute(ledger: UsageLedger) {
  return serviceRoute(UsageLedgerService, {
    reconcileDay: (request) => reconcileDay(ledger, request),
    replayDeadLetters: (request) => replayDeadLetters(ledger, request),
  });
}

const maxDifferencesShown = 1_000;
const lettersAtATime = 200;

/** Compares the sums of one day with its events, and mends them when asked to. */
async function reconcileDay(ledger: UsageLedger, { localDay, repair }: ReconcileDayRequest) {
  if (!isLocalDay(localDay)) throw new GatewayError('invalid_request', 'local_day must be a day such as 2026-11-20.');
  const differences = await checkDay(ledger.days, localDay, { repair }).catch((thrown: unknown) => {
    if (!(thrown instanceof EventDaysBusyError)) throw thrown;
    throw new GatewayError('internal_error', 'Another check of the ledger runs. Try again when it has ended.');
  });
  if (differences === undefined) return { eventsKept: false };
  return {
    eventsKept: true,
    differences: differences.slice(0, maxDifferencesShown).map(({ recorded, counted }) => {
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

/** One page of dead letters, read again. */
async function replayDeadLetters(ledger: UsageLedger, { dryRun, pageToken }: ReplayDeadLettersRequest) {
  const letters = await ledger.database
    .selectFrom('dead_letters')
    .selectAll()
    .where('dead_letter_id', '>', pageToken)
    .orderBy('dead_letter_id')
    .limit(lettersAtATime)
    .execute();
  const page = { replayed: 0, duplicates: 0 };
  const stillDead = [];
  for (const letter of letters) {
    const outcome = await replayLetter(ledger, letter, dryRun);
    if (typeof outcome === 'string') {
      const receivedAt = timestampFromMs(letter.received_at_ms);
      stillDead.push({ deadLetterId: letter.dead_letter_id, receivedAt, reason: outcome });
    } else if (outcome !== undefined) page[outcome > 0 ? 'replayed' : 'duplicates'] += 1;
  }
  const last = letters.length === lettersAtATime ? letters.at(-1) : undefined;
  return { ...page, stillDead, nextPageToken: last?.dead_letter_id ?? '' };
}
