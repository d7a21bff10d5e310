import type { RecordedRequest } from '@gateway/simulator';

/**
 * How many requests an account had under way at the same time, at most, as its provider saw it. Exact: the provider notes an end
 * before it sends the last bytes, and what comes of them, such as a request that takes the place, reaches it later. Lists of models,
 * which adapters ask for by themselves, take no place.
 */
export function mostAtOnce(requests: readonly RecordedRequest[]): number {
  const placed = requests.filter(({ method }) => method === 'POST');
  const changes = placed.flatMap(({ receivedAtMs, endedAtMs }) => [
    { atMs: receivedAtMs, by: 1 },
    { atMs: endedAtMs ?? Number.POSITIVE_INFINITY, by: -1 },
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
