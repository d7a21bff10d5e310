import type { Checker, Evidence } from './evidence.ts';

export const nothingWaits: Checker = {
  promise: 'nothing waits for ever',
  check({ requests, activeRequests, undelivered }: Evidence) {
    const open = requests.filter(({ endedAtMs }) => endedAtMs === undefined);
    return [
      ...open.map(({ marker, edge, sentAtMs }) => `${marker} of ${sentAtMs} waits at ${edge}`),
      ...left(activeRequests, 'requests are active'),
      ...left(undelivered, 'events are not delivered'),
    ];
  },
};

function left(counts: ReadonlyMap<string, number>, what: string): readonly string[] {
  return [...counts].filter(([, count]) => count > 0).map(([name, count]) => `${name}: ${count} ${what}`);
}
