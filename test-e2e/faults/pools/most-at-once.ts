import type { RecordedRequest } from '@gateway/simulator';

/**
 * The most simultaneous requests of an account, as its provider saw them. The number is exact: the
 * provider records an end before it sends the last bytes, and their effects, such as a request that
 * takes the slot, reach it later. Adapters' requests for model lists take no slot.
 */
export function mostAtOnce(requests: readonly RecordedRequest[]): number {
  const placed = requests.filter(({ method }) => method === 'POST');
  const changes = placed.flatMap(({ receivedAtMs, endedAtMs }) => [
    { atMs: receivedAtMs, by: 1 },
    { atMs: endedAtMs ?? Number.POSITIVE_INFINITY, by: -1 },
  ]);
  // Within the same millisecond, ends come first: a slot is taken again at once.
  const inOrder = changes.toSorted((one, other) => one.atMs - other.atMs || one.by - other.by);
  let underWay = 0;
  let most = 0;
  for (const { by } of inOrder) {
    underWay += by;
    most = Math.max(most, underWay);
  }
  return most;
}
