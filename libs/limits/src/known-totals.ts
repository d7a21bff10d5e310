import type { FallbackOptions } from './fallback-options.ts';
import { slicesOf } from './limit-store.ts';
import type { KnownTotal } from './limited-key.ts';

/**
 * A remote that may have returned empty, or as an older copy of itself, continues from the totals
 * that are known here.
 */
export async function handOverTotals(
  { remote, mayForget }: Pick<FallbackOptions, 'remote' | 'mayForget'>,
  local: { readonly knownTotals: () => readonly KnownTotal[] },
): Promise<void> {
  if (!mayForget || remote.raise === undefined) return;
  for (const some of slicesOf(local.knownTotals())) await remote.raise(some);
}
