/**
 * Repeats a test of a limit per minute until it runs within one minute. After a minute slots are
 * free again, so that a longer run proves nothing, whether it succeeded or failed.
 */
export async function withinAMinute(run: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const startedMs = Date.now();
    const failed = await run().then(
      () => undefined,
      (thrown: unknown) => ({ thrown }),
    );
    const isWithin = Date.now() - startedMs < 60_000;
    if (isWithin && failed === undefined) return;
    if (isWithin) throw failed?.thrown;
    if (attempt === 3) throw new Error('the machine was too slow for this test', { cause: failed?.thrown });
  }
}
