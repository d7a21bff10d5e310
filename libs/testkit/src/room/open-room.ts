import { measureRoom } from './measure-room.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * The slowness, as in `room.ts`, for tests that can't import this package because it imports
     * them.
     */
    slowness: number;
  }
}

/** Vitest's settings for this machine. */
export interface Patience {
  /** Concurrent test files. */
  readonly workers: number;
  readonly testTimeout: number;
  readonly hookTimeout: number;
  readonly expect: { readonly poll: { readonly timeout: number } };
  readonly provide: { readonly slowness: number };
}

/**
 * Measures this machine when a test run starts, and puts its slowness in the environment of all
 * processes of the run: see `roomMs`. If TEST_SLOWNESS is set, its value is used.
 *
 * A long timeout costs nothing when the awaited event occurs, so these are long enough that no test
 * needs one of its own.
 */
export async function openRoom(): Promise<Patience> {
  const measured = await measureRoom();
  process.env.TEST_SLOWNESS ??= String(measured.slowness);
  const slowness = Number(process.env.TEST_SLOWNESS);
  if (slowness > 1) {
    const text = `Time-outs are ${slowness} times as long as usual here, and ${measured.workers} test files run at a time.\n`;
    process.stderr.write(text);
  }
  return {
    workers: measured.workers,
    testTimeout: 240_000 * slowness,
    // Servers, a browser and kubectl may have to be downloaded.
    hookTimeout: 240_000 * slowness,
    expect: { poll: { timeout: 60_000 * slowness } },
    provide: { slowness },
  };
}
