import { hash } from 'node:crypto';

/** A token's opaque key for services that distinguish callers: the same for each request of it, and nothing can be read from it. */
export function callerKey(tokenId: string): string {
  return hash('sha256', `caller\n${tokenId}`, 'base64url').slice(0, keyLength);
}

/** 120 bits: two tokens never share a key, and a label of a request stays short. */
const keyLength = 20;
