import type { IncomingHttpHeaders } from 'node:http';
import { lastReasoningAfter } from '@gateway/encrypted-reasoning';
import type { JsonBody } from '@gateway/json';
import { scopedKey } from '@gateway/tokens';

const sessionHeaders = ['session-id', 'session_id', 'x-session-id', 'x-claude-code-session-id'] as const;

/**
 * What keeps related requests on one account: a session header, else the body's `prompt_cache_key`.
 * Empty when the client named no session.
 */
export function affinityKey(tokenId: string, headers: IncomingHttpHeaders, promptCacheKey: string | undefined): string {
  const named = sessionHeaders.map((name) => headers[name]).find(Boolean);
  const text = typeof named === 'string' ? named : promptCacheKey;
  return text === undefined || text === '' ? '' : scopedKey(tokenId, text);
}

/** What keeps a request on an account, and its answer findable for the requests after it. */
export interface Affinity {
  /** Empty: nothing does. */
  readonly affinityKey: string;
  /** The keys by which later requests will refer to an answer. Absent: they can't. */
  readonly answerKeysOf?: (answer: AnswerNames) => string[];
}

/** By what later requests may refer to an answer. Empty: not by this. */
export interface AnswerNames {
  /** The provider's id of the answer. */
  readonly answerId: string;
  /** Digest of the last encrypted reasoning in it. */
  readonly encryptedReasoning: string;
}

/**
 * A session stays on its account. A conversation without one, whose `sessionKey` is empty, is
 * followed by the encrypted reasoning that it brings along: another account may not be able to read
 * it. Only then is an answer's reasoning worth remembering. In `body` the key of the dialect's
 * encrypted reasoning was tracked.
 */
export function relayAffinity(tokenId: string, sessionKey: string, body: JsonBody): Affinity {
  if (sessionKey !== '') return { affinityKey: sessionKey };
  const reasoningKey = (digest: string) => scopedKey(tokenId, `reasoning\n${digest}`);
  const last = lastReasoningAfter(body.source, body.trackedKeyEnds);
  return {
    affinityKey: last === undefined ? '' : reasoningKey(last),
    answerKeysOf: ({ encryptedReasoning }) => (encryptedReasoning === '' ? [] : [reasoningKey(encryptedReasoning)]),
  };
}

/**
 * The same for a Messages request with a `thread`, whose state is kept by the account that made its
 * messages: what continues a message must reach the same account.
 */
export function threadAffinity(tokenId: string, body: JsonBody, affinity: Affinity): Affinity {
  const thread = body.value('thread');
  if (thread === undefined) return affinity;
  const { previous_message_id: continued } = Object(thread);
  const answerKey = (answerId: string) => scopedKey(tokenId, `answer\n${answerId}`);
  return {
    affinityKey: typeof continued === 'string' ? answerKey(continued) : affinity.affinityKey,
    answerKeysOf: (answer) => [
      ...(affinity.answerKeysOf?.(answer) ?? []),
      ...(answer.answerId === '' ? [] : [answerKey(answer.answerId)]),
    ],
  };
}
