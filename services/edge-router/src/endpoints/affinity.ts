import type { IncomingHttpHeaders } from 'node:http';
import { reasoningAt } from '@gateway/encrypted-reasoning';
import type { JsonBody } from '@gateway/json';
import { scopedKey } from '@gateway/tokens';

const sessionHeaders = ['session-id', 'session_id', 'x-session-id', 'x-claude-code-session-id'] as const;

/**
 * The key that keeps related requests on one account: a session header, or else the body's
 * `prompt_cache_key`. Empty when the client named no session.
 */
export function affinityKey(tokenId: string, headers: IncomingHttpHeaders, promptCacheKey: string | undefined): string {
  const named = sessionHeaders.map((name) => headers[name]).find(Boolean);
  const text = typeof named === 'string' ? named : promptCacheKey;
  return text === undefined || text === '' ? '' : scopedKey(tokenId, text);
}

/** What keeps a request on an account, and lets later requests find its answer. */
export interface Affinity {
  /** Empty: no affinity. */
  readonly affinityKey: string;
  /** The keys by which later requests will refer to an answer. Absent: they can't. */
  readonly answerKeysOf?: ((answer: AnswerNames) => string[]) | undefined;
}

/** The names by which later requests may refer to an answer. An empty one is not available. */
export interface AnswerNames {
  /** The provider's id of the answer. */
  readonly answerId: string;
  /** The digest of its last encrypted reasoning. */
  readonly encryptedReasoning: string;
}

/**
 * A session stays on its account. A conversation without one has an empty `sessionKey`, and follows
 * the encrypted reasoning that it contains, because another account may be unable to read it. Only
 * then is an answer's reasoning remembered. `body` must have been read with the dialect's
 * `reasoningStrings` tracked.
 */
export function relayAffinity(tokenId: string, sessionKey: string, body: JsonBody): Affinity {
  if (sessionKey !== '') return { affinityKey: sessionKey };
  const reasoningKey = (digest: string) => scopedKey(tokenId, `reasoning\n${digest}`);
  const last = reasoningAt(body.source, body.trackedString);
  return {
    affinityKey: last === undefined ? '' : reasoningKey(last),
    answerKeysOf: ({ encryptedReasoning }) => (encryptedReasoning === '' ? [] : [reasoningKey(encryptedReasoning)]),
  };
}

/**
 * The same for a Messages request with a `thread`, whose state belongs to the account that created
 * its messages: a continuation must reach the same account.
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
