import { hash } from 'node:crypto';

/**
 * The affinity key by which the pool-broker keeps the requests of one session on one account. It
 * includes the token, so that two callers with the same session name do not collide. It is hashed,
 * so that clients' input is bounded in length and not stored.
 */
export function scopedKey(tokenId: string, text: string): string {
  return hash('sha256', `${tokenId}\n${text}`, 'base64url');
}
