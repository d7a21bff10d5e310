import { hash } from 'node:crypto';

/** 120 bits: two tokens never share a key, and a label of a request stays short. */
const keyLength = 20;

/** A token's opaque key for services that tell callers apart and need not know who they are. */
export function callerKey(tokenId: string): string {
  return hash('sha256', `caller\n${tokenId}`, 'base64url').slice(0, keyLength);
}
