import { hash } from 'node:crypto';

/** What a key may prefer. */
export interface Rendezvous<T> {
  readonly idOf: (item: T) => string;
  /** Above 0: an item of twice the weight is preferred by twice as many keys. */
  readonly weightOf: (item: T) => number;
}

/**
 * The item that a key prefers. Every replica picks the same one, and taking another item away or adding one moves only the
 * keys that preferred it.
 */
export function preferredByKey<T>(key: string, items: readonly T[], { idOf, weightOf }: Rendezvous<T>): T | undefined {
  let best: { readonly item: T; readonly score: number } | undefined;
  for (const item of items) {
    const score = weightOf(item) / -Math.log(fractionOf(`${key}\n${idOf(item)}`));
    if (best === undefined || score > best.score) best = { item, score };
  }
  return best?.item;
}

/** A number between 0 and 1, never either, that is as good as random and always the same for a text. */
function fractionOf(text: string): number {
  const digest = hash('sha256', text, 'buffer');
  return (digest.readUIntBE(0, 6) + 0.5) / 2 ** 48;
}
