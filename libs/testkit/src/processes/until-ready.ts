import { setTimeout as sleep } from 'node:timers/promises';

/** Asks again and again until `ping` resolves. `failed` rejects when there is nothing left to wait for. */
export async function untilReady(
  name: string,
  ping: () => Promise<void>,
  failed: Promise<never>,
  timeoutMs: number,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 200)) {
    try {
      return await Promise.race([ping(), failed]);
    } catch (thrown) {
      await Promise.race([sleep(pauseMs), failed]);
      if (performance.now() > deadlineMs) {
        const reason = thrown instanceof Error ? thrown.message : String(thrown);
        throw new Error(`${name} was not ready within ${timeoutMs / 1_000} s: ${reason}`, { cause: thrown });
      }
    }
  }
}
