import { GatewayError } from '@gateway/errors';
import { cacheTime, monotonicMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';

/**
 * Limits how much work the compressed bodies of one token cause. Bodies are allowed to expand
 * twentyfold, and to 1 MiB in any case; decoded bytes beyond both are taken from an allowance of
 * the token, which refills steadily. A body waits when the allowance is used up.
 */
export class ExpansionAllowance {
  /** Tokens whose allowance is not full, with the time at which it will be. */
  readonly #fullAtMs = new LRUCache<string, number>({ max: 10_000, ttl: 2 * fullAfterMs, ...cacheTime });

  /**
   * Takes bytes in the order of the calls. Returns how long the caller must wait for them. Throws
   * `providers_unavailable`, and takes nothing, when that is longer than `patienceMs`.
   */
  take(tokenId: string, bytes: number, patienceMs: number): number {
    const nowMs = monotonicMs();
    const fullAtMs = Math.max(this.#fullAtMs.get(tokenId) ?? 0, nowMs) + bytes / bytesPerMs;
    const waitMs = Math.floor(fullAtMs - nowMs - fullAfterMs);
    if (waitMs > patienceMs) {
      const retryAfterMs = Math.ceil(fullAtMs - bytes / bytesPerMs - nowMs);
      throw new GatewayError('providers_unavailable', exhausted, { retryAfterMs });
    }
    this.#fullAtMs.set(tokenId, fullAtMs);
    return Math.max(0, waitMs);
  }
}

/** How many decoded bytes of an upload of this size are free. */
export function freeDecodedBytes(uploadBytes: number): number {
  return Math.max(1024 * 1024, 20 * uploadBytes);
}

const allowanceBytes = 512 * 1024 * 1024;
const bytesPerMs = (256 * 1024 * 1024) / 60_000;
/** How long an empty allowance takes to be full. */
const fullAfterMs = allowanceBytes / bytesPerMs;

const exhausted = 'Compressed bodies of this token expanded to too much data. Try again later.';
