import type { JsonBody } from '@gateway/json';
import { answerKey } from '../attempts/affinity-key.ts';
import type { Affinity } from './relay-affinity.ts';

/**
 * A thread's state is kept by the account that made its messages: what continues a message must reach the same account.
 * A request uses threads by its top-level `thread`.
 */
export function usesThread(body: JsonBody): boolean {
  return body.member('thread') !== undefined;
}

/** As `affinity` has it, but that a message of a thread goes where the one before it came from. */
export function threadAffinity(tokenId: string, body: JsonBody, affinity: Affinity): Affinity {
  const continued = continuedAnswerId(body);
  return {
    affinityKey: continued === undefined ? affinity.affinityKey : answerKey(tokenId, continued),
    answerKeysOf: (answer) => [
      ...affinity.answerKeysOf(answer),
      ...(answer.answerId === '' ? [] : [answerKey(tokenId, answer.answerId)]),
    ],
  };
}

/** The message that a request continues: `thread.previous_message_id`. */
function continuedAnswerId(body: JsonBody): string | undefined {
  const thread = body.value('thread');
  if (typeof thread !== 'object' || thread === null || !('previous_message_id' in thread)) return undefined;
  return typeof thread.previous_message_id === 'string' ? thread.previous_message_id : undefined;
}
