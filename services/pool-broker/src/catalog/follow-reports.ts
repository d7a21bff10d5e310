import { setTimeout as sleep } from 'node:timers/promises';
import type { Catalog } from './catalog.ts';

/** Keeps a catalog up to date with what other replicas were told, until the signal is aborted. */
export async function followReports(
  catalog: Catalog,
  { signal, onFault }: { readonly signal: AbortSignal; readonly onFault: (thrown: unknown) => void },
): Promise<void> {
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (!signal.aborted) await catalog.refresh().catch(onFault);
  }
}

const everyMs = 5_000;
