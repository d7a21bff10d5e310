import type { Checker, Evidence } from './evidence.ts';

export const obedientClient: Checker = {
  promise: 'a client that obeys `retry-after` succeeds at its next try, if nobody took the slot',
  check({ requests }: Evidence) {
    const again = requests.filter(
      ({ obeyed, token, code }) => obeyed && token.clients === 1 && code === 'rate_limit_exceeded',
    );
    return again.map(({ marker, sentAtMs }) => `${marker} at ${sentAtMs} is refused although it waited`);
  },
};
