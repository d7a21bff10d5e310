import type { JsonBody } from '@gateway/json';
import { lastSealedReasoningInTurns, type SealMember } from '@gateway/sealed-reasoning';
import { reasoningKey } from '../attempts/affinity-key.ts';
import type { Generation } from './generate.ts';

/** What keeps a relayed request on an account, and its answer findable for the requests after it. */
export type Affinity = Required<Pick<Generation, 'affinityKey' | 'answerKeysOf'>>;

export interface RelayedConversation {
  readonly tokenId: string;
  /** Empty when the client named no session. */
  readonly sessionKey: string;
  readonly body: JsonBody;
  /** How the dialect names sealed reasoning. */
  readonly seal: SealMember;
}

/**
 * A session stays on its account. A conversation without one is followed by the sealed reasoning that it brings along, so
 * that it reaches the account that can read it; only then is an answer's reasoning worth remembering.
 */
export async function relayAffinity({ tokenId, sessionKey, body, seal }: RelayedConversation): Promise<Affinity> {
  if (sessionKey !== '') return { affinityKey: sessionKey, answerKeysOf: () => [] };
  const last = await lastSealedReasoningInTurns(body.bytes, seal);
  return {
    affinityKey: last === undefined ? '' : reasoningKey(tokenId, last),
    answerKeysOf: ({ sealedReasoning }) => (sealedReasoning === '' ? [] : [reasoningKey(tokenId, sealedReasoning)]),
  };
}
