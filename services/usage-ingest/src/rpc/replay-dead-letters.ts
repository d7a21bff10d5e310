import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ReplayDeadLettersRequest } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { DeadLetterReplay } from '../replay/dead-letter-replay.ts';

/** One page of dead letters, read again. */
export async function replayDeadLetters(replay: DeadLetterReplay, { dryRun, pageToken }: ReplayDeadLettersRequest) {
  const { replayed, duplicates, stillDead, next } = await replay.page({ dryRun, after: pageToken });
  return {
    replayed,
    duplicates,
    stillDead: stillDead.map(({ letter, reason }) => ({
      deadLetterId: letter.dead_letter_id,
      receivedAt: timestampFromMs(letter.received_at_ms),
      reason,
    })),
    nextPageToken: next ?? '',
  };
}
