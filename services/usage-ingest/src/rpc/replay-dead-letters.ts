import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ReplayDeadLettersRequest } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { replayLetter } from '../replay/replay-letter.ts';
import type { UsageLedger } from '../store/usage-ledger.ts';

const lettersAtATime = 200;

/** One page of dead letters, read again. */
export async function replayDeadLetters(ledger: UsageLedger, { dryRun, pageToken }: ReplayDeadLettersRequest) {
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
      const { dead_letter_id: deadLetterId, received_at_ms } = letter;
      stillDead.push({ deadLetterId, receivedAt: timestampFromMs(received_at_ms), reason: outcome });
    } else if (outcome !== undefined) page[outcome > 0 ? 'replayed' : 'duplicates'] += 1;
  }
  const last = letters.length === lettersAtATime ? letters.at(-1) : undefined;
  return { ...page, stillDead, nextPageToken: last?.dead_letter_id ?? '' };
}
