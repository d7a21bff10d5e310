import type { Checker, Evidence } from './evidence.ts';

export const oneAnswer: Checker = {
  promise: 'one answer per request: no two halves, nothing after an error, no false end',
  check({ requests, uncaught }: Evidence) {
    const wrong = requests.flatMap(({ problem, marker, requestId }) =>
      problem === undefined ? [] : [`${marker} (${requestId}): ${problem}`],
    );
    return [...wrong, ...uncaught.map((what) => `not caught: ${what}`)];
  },
};
