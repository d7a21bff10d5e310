import type { RecordedRequest } from '@gateway/simulator';

/**
 * How many requests an account had under way at the same time, at most, as its provider saw it. The provider notes an end a
 * turn of its loop after the last event has left, which may be late on a busy machine: overlaps at ends count only when they
 * last. Requests that should not have been let in overlap for most of their time.
 */
export function mostAtOnce(requests: readonly RecordedRequest[]): number {
  const changes = requests.flatMap(({ receivedAtMs, endedAtMs }) => [
    { atMs: receivedAtMs, by: 1 },
    { atMs: Math.max(receivedAtMs, (endedAtMs ?? Number.POSITIVE_INFINITY) - lateEndMs), by: -1 },
  ]);
  // Of what happens in the same millisecond the ends come first: a place is taken again at once.
  const inOrder = changes.toSorted((one, other) => one.atMs - other.atMs || one.by - other.by);
  let underWay = 0;
  let most = 0;
  for (const { by } of inOrder) {
    underWay += by;
    most = Math.max(most, underWay);
  }
  return most;
}

const lateEndMs = 200;
