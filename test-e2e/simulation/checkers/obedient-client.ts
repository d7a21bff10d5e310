import type { ClientRequest } from '../clients/client.ts';
import { type Checker, type Evidence, limitsBetween, madeAlone } from './evidence.ts';

/**
 * In and after an outage, an edge that decides alone admits only its part. A limit that was
 * lowered takes slots.
 */
export const obedientClient: Checker = {
  promise: 'a client that obeys `retry-after` succeeds at its next try, if no one took the slot',
  check(evidence: Evidence) {
    const again = evidence.requests.filter(
      (request) => request.obeyed && request.code === 'rate_limit_exceeded' && mustHaveSucceeded(evidence, request),
    );
    return again.map(({ marker, sentAtMs }) => `${marker} at ${sentAtMs} is refused although it waited`);
  },
};

function mustHaveSucceeded(evidence: Evidence, { token, sentAtMs, headAtMs = sentAtMs }: ClientRequest): boolean {
  const isChanged = limitsBetween(evidence, token, sentAtMs - 60_000, headAtMs).length > 1;
  return token.clients === 1 && madeAlone(evidence, sentAtMs - 60_000, headAtMs) === 0 && !isChanged;
}
