import type { ProcessControl } from '../processes/managed-process.ts';

/**
 * A real server of a test's own, on 127.0.0.1. It ends with the process that started it, even if that one crashes.
 * In a container it has no `pid`. Disposing it stops it and removes its data.
 */
export interface TestServer extends ProcessControl, AsyncDisposable {
  readonly url: string;
  /** Stays the same over restarts. */
  readonly port: number;
}
