/**
 * How many times slower than a usual machine this one is: `vitest.config.ts` measures it when a run
 * starts.
 */
export const slowness = Number(process.env.TEST_SLOWNESS ?? '1');

/**
 * A timeout for a test, or for a setting of a gateway under test, on this machine: the time that
 * suffices on a usual machine, times the slowness of this one.
 */
export function roomMs(usualMs: number): number {
  return Math.ceil(usualMs * slowness);
}

/** Like `roomMs`, for settings in whole seconds. */
export function roomSeconds(usualSeconds: number): number {
  return Math.ceil(usualSeconds * slowness);
}
