import type { Checker, Evidence } from './evidence.ts';

export const memoryReturns: Checker = {
  promise: 'memory returns to its start: bodies, streams, calls, outboxes and settles',
  check({ sizesAtStart, sizes }: Evidence) {
    return [...sizes]
      .filter(([name, size]) => size > (sizesAtStart.get(name) ?? 0))
      .map(([name, size]) => `${name}: ${size}, and ${sizesAtStart.get(name) ?? 0} at the start`);
  },
};
