import type { AdmitStreamRequest } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../limiter.ts';
import { admit } from './admit.ts';

/**
 * Decides batches of checks, one after the other, and answers them in order. When the service drains it answers the batch that it has
 * read and ends the stream; the caller opens another one. A check that is not valid ends the stream with its error.
 */
export async function* admitStream(
  limiter: Limiter,
  requests: AsyncIterable<AdmitStreamRequest>,
  draining: AbortSignal,
) {
  for await (const { checks } of until(draining, requests)) {
    const decisions: Awaited<ReturnType<typeof admit>>[] = [];
    for (let start = 0; start < checks.length; start += checksAtOnce) {
      const some = checks.slice(start, start + checksAtOnce);
      decisions.push(...(await Promise.all(some.map((check) => admit(limiter, check)))));
    }
    yield { decisions };
  }
}

/** A batch may have hundreds of thousands of checks; the store must decide each in time. */
const checksAtOnce = 500;

async function* until<T>(stop: AbortSignal, source: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await nextUntil(stop, iterator);
      if (next?.done !== false) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a source that waits for its caller would hold up the end.
    iterator.return?.().catch(() => undefined);
  }
}

/** Undefined when it is aborted first. The signal outlives the stream: nothing stays with it. */
function nextUntil<T>(stop: AbortSignal, iterator: AsyncIterator<T>): Promise<IteratorResult<T> | undefined> {
  return new Promise((resolve, reject) => {
    const end = () => resolve(undefined);
    if (stop.aborted) end();
    stop.addEventListener('abort', end, { once: true });
    const release = () => stop.removeEventListener('abort', end);
    iterator.next().then(resolve, reject).finally(release);
  });
}
