/** How many times as long as on a usual machine things take here: `vitest.config.ts` measures it when a run begins. */
export const slowness = Number(process.env.TEST_SLOWNESS ?? '1');

/**
 * How long something may take on this machine before a test gives it up, or a setting of a gateway under test does: what is enough
 * on a usual machine, times the slowness of this one.
 */
export function roomMs(usualMs: number): number {
  return Math.ceil(usualMs * slowness);
}

/** As `roomMs`, for settings that are whole seconds. */
export function roomSeconds(usualSeconds: number): number {
  return Math.ceil(usualSeconds * slowness);
}
