import { hash } from 'node:crypto';

/**
 * The item that a key prefers. Every replica picks the same one, and taking another item away or adding one moves only the
 * keys that preferred it.
 */
export function preferredByKey<T>(key: string, items: readonly T[], idOf: (item: T) => string): T | undefined {
  let best: { readonly item: T; readonly score: string } | undefined;
  for (const item of items) {
    const score = hash('sha256', `${key}\n${idOf(item)}`, 'hex');
    if (best === undefined || score > best.score) best = { item, score };
  }
  return best?.item;
}
