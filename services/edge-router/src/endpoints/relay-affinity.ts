import type { JsonBody } from '@gateway/json';
import { lastSealedReasoning, lastSealedReasoningInTurns, type SealMember } from '@gateway/sealed-reasoning';
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
 * that it reaches the account that can read it; only then is an answer's reasoning worth remembering. At once for all but very
 * long bodies.
 */
export function relayAffinity({ tokenId, sessionKey, body, seal }: RelayedConversation): Affinity | Promise<Affinity> {
  if (sessionKey !== '') return { affinityKey: sessionKey, answerKeysOf: noKeys };
  if (body.bytes.length <= oneTurnBytes) return reasoningAffinity(tokenId, lastSealedReasoning(body.bytes, seal));
  return lastSealedReasoningInTurns(body.bytes, seal).then((last) => reasoningAffinity(tokenId, last));
}

const noKeys = (): readonly string[] => [];

/** Searched in a fraction of a millisecond. */
const oneTurnBytes = 512 * 1024;

/** @param last digest of the reasoning that the request brings along. */
function reasoningAffinity(tokenId: string, last: string | undefined): Affinity {
  return {
    affinityKey: last === undefined ? '' : reasoningKey(tokenId, last),
    answerKeysOf: ({ sealedReasoning }) => (sealedReasoning === '' ? [] : [reasoningKey(tokenId, sealedReasoning)]),
  };
}
