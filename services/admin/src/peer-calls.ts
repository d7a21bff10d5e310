import type { CallOptions } from '@gateway/rpc';

/** Every call to a peer ends by then, or when its caller has left. */
export function peerCall(signal: AbortSignal): CallOptions {
  return { timeoutMs: 10_000, signal };
}

interface Page {
  readonly nextPageToken: string;
}

/** All pages of a long answer, one after the other: one is in memory at a time. */
export async function* pagesOf<P extends Page>(ask: (pageToken: string) => Promise<P>): AsyncGenerator<P> {
  let pageToken = '';
  do {
    const page = await ask(pageToken);
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
}

/** Calls `ask` for each item, sixteen at a time. Throws the first error. */
export async function askForEach<T>(all: Iterable<T>, ask: (each: T) => Promise<void>): Promise<void> {
  const left = Iterator.from(all);
  const askNext = async () => {
    for (const each of left) await ask(each);
  };
  await Promise.all(Array.from({ length: 16 }, askNext));
}

/** Awaits a promise, or throws the signal's reason if it is aborted first. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
