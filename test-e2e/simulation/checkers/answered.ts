import type { ClientRequest } from '../clients/client.ts';
import { areTogether, type Checker, type Evidence, limitsBetween } from './evidence.ts';

export const answered: Checker = {
  promise: 'a request with room in its limits, a healthy account and a gateway in reach is answered',
  check(evidence: Evidence) {
    return evidence.requests.flatMap((request) => {
      const { marker, sentAtMs, status = 'no status', code = '', view } = request;
      if (view === undefined || view === 'whole' || view === 'left' || isExcused(evidence, request)) return [];
      return [`${marker} at ${sentAtMs} gets ${status} ${code}, ${view}`];
    });
  },
};

function isExcused(evidence: Evidence, request: ClientRequest): boolean {
  const { status, code, marker, sentAtMs, endedAtMs = Number.POSITIVE_INFINITY } = request;
  // Two checkers of their own judge these.
  if (status === 401 || (status === 404 && evidence.fileChanges.length > 1)) return true;
  if (code === 'rate_limit_exceeded') return !hadRoom(evidence, request);
  if (evidence.attempts.get(marker)?.some(({ faults }) => faults.length > 0)) return true;
  // An edge that reaches neither a limiter nor identity, and knows nothing, says so.
  const isInternal = code === 'internal_error';
  if (isInternal && !areTogether(evidence, sentAtMs - troubledForMs, endedAtMs)) return true;
  const afterMs = isInternal ? connectedWithinMs : troubledForMs;
  return evidence.troubles.some(({ fromMs, untilMs }) => fromMs <= endedAtMs && sentAtMs <= untilMs + afterMs);
}

/** How long the services of a gateway need to reach each other again. */
const connectedWithinMs = 2_000;

/** How long a fault may still be felt: the longest silence of a provider in the world's settings. */
const troubledForMs = 30_000;

/** Whether a request was refused though fewer than the limit can have taken a slot in its minute. */
function hadRoom(evidence: Evidence, request: ClientRequest): boolean {
  const { token, sentAtMs, headAtMs = sentAtMs } = request;
  const fromMs = sentAtMs - 60_000;
  if (!areTogether(evidence, fromMs, headAtMs)) return false;
  const taken = evidence.requests.filter(
    (other) =>
      other.token.tokenId === token.tokenId &&
      other.code !== 'rate_limit_exceeded' &&
      other.sentAtMs <= headAtMs &&
      (other.headAtMs ?? other.endedAtMs ?? headAtMs) >= fromMs,
  );
  return taken.length < Math.min(...limitsBetween(evidence, token, fromMs, headAtMs));
}
