import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves when an admin port reports ready. @throws Error with its answer otherwise. */
export async function untilReady(adminUrl: string): Promise<void> {
  let said = 'nothing';
  for (const giveUpAtMs = performance.now() + 30_000; performance.now() < giveUpAtMs; await sleep(50)) {
    try {
      const response = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(1_000) });
      said = await response.text();
      if (response.ok) return;
    } catch (thrown) {
      said = String(thrown);
    }
  }
  throw new Error(`${adminUrl}/readyz said after 30 s: ${said}`);
}
