import { type Checker, type Evidence, madeAlone } from './evidence.ts';

/** In and after an outage, a process that decides alone admits only its share. */
export const obedientClient: Checker = {
  promise: 'a client that obeys `retry-after` succeeds at its next try, if no one took the slot',
  check(evidence: Evidence) {
    const again = evidence.requests.filter(
      ({ obeyed, token, code, sentAtMs }) =>
        obeyed && token.clients === 1 && code === 'rate_limit_exceeded' && isTogether(evidence, sentAtMs),
    );
    return again.map(({ marker, sentAtMs }) => `${marker} at ${sentAtMs} is refused although it waited`);
  },
};

function isTogether(evidence: Evidence, sentAtMs: number): boolean {
  const { edges, limiters } = madeAlone(evidence, sentAtMs - 60_000, sentAtMs);
  return edges + limiters === 0;
}
