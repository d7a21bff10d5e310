import { hash } from 'node:crypto';

/**
 * A token's opaque key for services that distinguish callers: the same for each of its requests,
 * and without readable content.
 */
export function callerKey(tokenId: string): string {
  return hash('sha256', `caller\n${tokenId}`, 'base64url').slice(0, keyLength);
}

/** 120 bits: enough that keys are unique, and short enough for labels of requests. */
const keyLength = 20;
