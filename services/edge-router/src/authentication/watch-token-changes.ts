import { setTimeout as sleep } from 'node:timers/promises';
import type { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { TokenCache } from './token-cache.ts';

const reconnectMs = 1_000;

/**
 * Expires changed tokens in the cache as identity reports them. Ends with the signal; a lost stream is opened again, and
 * since changes may have been missed meanwhile, its first message expires everything.
 */
export async function watchTokenChanges(
  identity: Client<typeof IdentityService>,
  tokens: TokenCache,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      let isFirst = true;
      for await (const { tokenIds } of identity.watchChanges({}, { signal })) {
        if (isFirst) tokens.expireAll();
        else tokens.expire(tokenIds);
        isFirst = false;
      }
    } catch {
      // Identity is away: cached tokens expire by their time, and the stream is tried again.
    }
    await sleep(reconnectMs, undefined, { signal }).catch(() => undefined);
  }
}
