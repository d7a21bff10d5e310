import { measureRoom } from './measure-room.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** As in `room.ts`, for tests of what this package is made of, which can't import it. */
    slowness: number;
  }
}

/** What vitest is told of this machine. */
export interface Patience {
  /** Test files at a time. */
  readonly workers: number;
  readonly testTimeout: number;
  readonly hookTimeout: number;
  readonly expect: { readonly poll: { readonly timeout: number } };
  readonly provide: { readonly slowness: number };
}

/**
 * Measures this machine when a run of tests begins, and leaves its slowness in the environment, where every process of the run
 * finds it: see `roomMs`. TEST_SLOWNESS, where it is set, is believed.
 *
 * Waiting costs nothing where what is waited for comes, so that these times are long: a test never needs one of its own.
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
