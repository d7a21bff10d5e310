import { hash } from 'node:crypto';
import type { InputSegment } from './conversation.ts';

/** How the input of one request divides. */
export interface InputUsage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  /** Read from the cache. */
  readonly cachedTokens: number;
  /** Written to the cache by this request. */
  readonly cacheWriteTokens: number;
}

const maximumEntries = 100_000;

/**
 * Remembers which beginnings of an input were seen before, per scope (an account, a model, a cache key). A beginning can be
 * remembered up to the last segment that is marked cacheable.
 */
export class PromptCache {
  /** Oldest first; a beginning that is used again moves to the end. */
  readonly #seen = new Set<string>();

  /** Looks up the longest known beginning of the input and remembers all of its cacheable ones. */
  use(scope: string, segments: readonly InputSegment[]): InputUsage {
    const inputTokens = sumTokens(segments);
    const lastCacheable = segments.findLastIndex((segment) => segment.cacheable);
    let cachedTokens = 0;
    let cacheableTokens = 0;
    let prefix = scope;
    for (const segment of segments.slice(0, lastCacheable + 1)) {
      prefix = hash('sha1', `${prefix}\n${segment.content}`);
      cacheableTokens += segment.tokens;
      if (this.#touch(prefix)) cachedTokens = cacheableTokens;
    }
    return { inputTokens, ...leaveOneToken(inputTokens, cachedTokens, cacheableTokens) };
  }

  clear(): void {
    this.#seen.clear();
  }

  #touch(prefix: string): boolean {
    const known = this.#seen.delete(prefix);
    this.#seen.add(prefix);
    if (this.#seen.size > maximumEntries) this.#dropOldest();
    return known;
  }

  #dropOldest(): void {
    for (const oldest of this.#seen) {
      this.#seen.delete(oldest);
      return;
    }
  }
}

export function sumTokens(segments: readonly InputSegment[]): number {
  return segments.reduce((sum, segment) => sum + segment.tokens, 0);
}

/** At least one token of every request is read anew, as with real providers. */
function leaveOneToken(inputTokens: number, cached: number, cacheable: number) {
  const most = Math.max(0, inputTokens - 1);
  const cachedTokens = Math.min(cached, most);
  return { cachedTokens, cacheWriteTokens: Math.min(cacheable, most) - cachedTokens };
}
