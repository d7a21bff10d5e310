import { hash } from 'node:crypto';

/**
 * What requests of one session have in common, as the pool-broker keeps them on one account by it. Scoped by token, so that two
 * callers with the same session name do not meet; hashed, so that what clients send stays bounded and unread.
 */
export function scopedKey(tokenId: string, text: string): string {
  return hash('sha256', `${tokenId}\n${text}`, 'base64url');
}
