import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const sessionHeaders = ['session-id', 'session_id', 'x-session-id', 'x-claude-code-session-id'] as const;

/**
 * What keeps related requests on one account: a session header, else the body's `prompt_cache_key`. Empty when the client
 * named no session.
 */
export function affinityKey(tokenId: string, headers: IncomingHttpHeaders, promptCacheKey: string | undefined): string {
  const text = namedSession(headers) ?? promptCacheKey;
  return text === undefined || text === '' ? '' : scopedKey(tokenId, text);
}

function namedSession(headers: IncomingHttpHeaders): string | undefined {
  for (const name of sessionHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

/** What keeps a request that refers to an earlier answer with the account that gave it. */
export function answerKey(tokenId: string, answerId: string): string {
  return scopedKey(tokenId, `answer\n${answerId}`);
}

/**
 * What keeps a conversation that names no session with the account that sealed its last reasoning: another account may
 * not be able to read it.
 */
export function reasoningKey(tokenId: string, sealDigest: string): string {
  return scopedKey(tokenId, `reasoning\n${sealDigest}`);
}

/**
 * Scoped by token, so that two callers with the same session name do not meet; hashed, so that what clients send stays
 * bounded and unread.
 */
function scopedKey(tokenId: string, text: string): string {
  return hash('sha256', `${tokenId}\n${text}`, 'base64url');
}
