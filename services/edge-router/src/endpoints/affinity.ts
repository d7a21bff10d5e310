import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { lastReasoningAfter } from '@gateway/encrypted-reasoning';
import type { JsonBody } from '@gateway/json';

const sessionHeaders = ['session-id', 'session_id', 'x-session-id', 'x-claude-code-session-id'] as const;

/**
 * What keeps related requests on one account: a session header, else the body's `prompt_cache_key`. Empty when the client
 * named no session.
 */
export function affinityKey(tokenId: string, headers: IncomingHttpHeaders, promptCacheKey: string | undefined): string {
  const named = sessionHeaders.map((name) => headers[name]).find(Boolean);
  const text = typeof named === 'string' ? named : promptCacheKey;
  return text === undefined || text === '' ? '' : scopedKey(tokenId, text);
}

/** What keeps a request that refers to an earlier answer with the account that gave it. */
export function answerKey(tokenId: string, answerId: string): string {
  return scopedKey(tokenId, `answer\n${answerId}`);
}

/**
 * What keeps a conversation that names no session with the account that encrypted its last reasoning: another account may
 * not be able to read it.
 */
export function reasoningKey(tokenId: string, reasoningDigest: string): string {
  return scopedKey(tokenId, `reasoning\n${reasoningDigest}`);
}

/**
 * Scoped by token, so that two callers with the same session name do not meet; hashed, so that what clients send stays
 * bounded and unread.
 */
function scopedKey(tokenId: string, text: string): string {
  return hash('sha256', `${tokenId}\n${text}`, 'base64url');
}

/** What keeps a request on an account, and its answer findable for the requests after it. */
export interface Affinity {
  /** Empty: nothing does. */
  readonly affinityKey: string;
  /** The keys by which later requests will refer to an answer. Absent: they can't. */
  readonly answerKeysOf?: (answer: AnswerNames) => readonly string[];
}

/** By what later requests may refer to an answer. Empty: not by this. */
export interface AnswerNames {
  /** The provider's id of the answer. */
  readonly answerId: string;
  /** Digest of the last encrypted reasoning in it. */
  readonly encryptedReasoning: string;
}

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
  if (sessionKey !== '') return { affinityKey: sessionKey };
  const last = lastReasoningAfter(body.source, body.trackedKeyEnds);
  return {
    affinityKey: last === undefined ? '' : reasoningKey(tokenId, last),
    answerKeysOf: ({ encryptedReasoning }) =>
      encryptedReasoning === '' ? [] : [reasoningKey(tokenId, encryptedReasoning)],
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
      ...(affinity.answerKeysOf?.(answer) ?? []),
      ...(answer.answerId === '' ? [] : [answerKey(tokenId, answer.answerId)]),
    ],
  };
}
