import { lastReasoningAfter } from '@gateway/encrypted-reasoning';
import type { JsonBody } from '@gateway/json';
import { answerKey, reasoningKey } from '../attempts/affinity-key.ts';
import type { Generation } from './generate.ts';

/** What keeps a relayed request on an account, and its answer findable for the requests after it. */
export type Affinity = Required<Pick<Generation, 'affinityKey' | 'answerKeysOf'>>;

export interface RelayedConversation {
  readonly tokenId: string;
  /** Empty when the client named no session. */
  readonly sessionKey: string;
  /** In which the key of the dialect's encrypted reasoning was noted: a ReasoningMember. */
  readonly body: JsonBody;
}

/**
 * A session stays on its account. A conversation without one is followed by the encrypted reasoning that it brings along, so
 * that it reaches the account that can read it; only then is an answer's reasoning worth remembering.
 */
export function relayAffinity({ tokenId, sessionKey, body }: RelayedConversation): Affinity {
  if (sessionKey !== '') return { affinityKey: sessionKey, answerKeysOf: noKeys };
  return reasoningAffinity(tokenId, lastReasoningAfter(body.source, body.trackedKeyEnds));
}

const noKeys = (): readonly string[] => [];

/** @param last digest of the reasoning that the request brings along. */
function reasoningAffinity(tokenId: string, last: string | undefined): Affinity {
  return {
    affinityKey: last === undefined ? '' : reasoningKey(tokenId, last),
    answerKeysOf: ({ sealedReasoning }) => (sealedReasoning === '' ? [] : [reasoningKey(tokenId, sealedReasoning)]),
  };
}

/**
 * The same for a Messages request with a `thread`, whose state is kept by the account that made its messages: what continues a
 * message must reach the same account.
 */
export function threadAffinity(tokenId: string, body: JsonBody, affinity: Affinity): Affinity {
  const thread = body.value('thread');
  if (thread === undefined) return affinity;
  const { previous_message_id: continued } = Object(thread);
  return {
    affinityKey: typeof continued === 'string' ? answerKey(tokenId, continued) : affinity.affinityKey,
    answerKeysOf: (answer) => [
      ...affinity.answerKeysOf(answer),
      ...(answer.answerId === '' ? [] : [answerKey(tokenId, answer.answerId)]),
    ],
  };
}
