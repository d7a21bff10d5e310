import type { ClientRequest } from '../clients/client.ts';
import {
  areTogether,
  budgetsBetween,
  type Checker,
  type Evidence,
  groupsById,
  isAnswered,
  limitsBetween,
  mayBeLost,
  type Trouble,
  windowMs,
} from './evidence.ts';

export const answered: Checker = {
  promise: 'a request with room in its limits, a healthy account and a gateway in reach is answered',
  check(evidence: Evidence) {
    return evidence.requests.flatMap((request) => {
      const { marker, sentAtMs, status = 'no status', code = '', limit = 'no limit', view } = request;
      if (view === undefined || view === 'whole' || view === 'left' || isExcused(evidence, request)) return [];
      return [`${marker} at ${sentAtMs} gets ${status} ${code} of ${limit}, ${view}`];
    });
  },
};

function isExcused(evidence: Evidence, request: ClientRequest): boolean {
  const { status, code, marker, sentAtMs, endedAtMs = Number.POSITIVE_INFINITY } = request;
  // Two checkers of their own judge these.
  if (status === 401 || (status === 404 && evidence.fileChanges.length > 1)) return true;
  if (status === 404 && request.token.groupId !== undefined)
    return evidence.groups.some(({ models }) => models.length > 0);
  if (code === 'rate_limit_exceeded') return !hadRoom(evidence, request);
  if (evidence.attempts.get(marker)?.some(({ faults }) => faults.length > 0)) return true;
  // An edge that reaches neither a limiter nor identity, and knows nothing, says so.
  const isInternal = code === 'internal_error';
  if (isInternal && !areTogether(evidence, sentAtMs - troubledForMs, endedAtMs)) return true;
  const afterMs = isInternal ? connectedWithinMs : troubledForMs;
  return isTroubled(evidence, request, afterMs);
}

function isTroubled({ troubles }: Evidence, { sentAtMs, endedAtMs = Infinity }: ClientRequest, forMs: number): boolean {
  return troubles.some(({ fromMs, untilMs }) => fromMs <= endedAtMs && sentAtMs <= untilMs + forMs);
}

/** How long the services of a gateway need to reach each other again. */
const connectedWithinMs = 2_000;

/** How long a fault may still be felt: the longest silence that the world's settings allow. */
const troubledForMs = 30_000;

/** Whether a request was refused though the limit that its answer names had room. */
function hadRoom(evidence: Evidence, request: ClientRequest): boolean {
  const { sentAtMs, headAtMs = sentAtMs, limit, token } = request;
  const fromMs = sentAtMs - windowMs;
  if (!areTogether(evidence, fromMs, headAtMs)) return false;
  const since = (earliestMs: number) => ({ fromMs: earliestMs, untilMs: headAtMs });
  if (limit === 'requests_per_minute' || limit === undefined) {
    const taken = evidence.requests.filter(
      (other) => other.token.tokenId === token.tokenId && mayHaveTaken(other, since(fromMs)),
    );
    return taken.length < Math.min(...limitsBetween(evidence, token, fromMs, headAtMs));
  }
  // A process that died leaves its places and its reservations for a while.
  if (limit !== 'group_requests_per_minute' && isTroubled(evidence, request, troubledForMs)) return false;
  const groupOf = groupsById(evidence);
  const sentAtMsOf = new Map(evidence.requests.map((other) => [other.requestId, other.sentAtMs]));
  // The token may just have moved: every group must have had room.
  return evidence.groups.every((group) => {
    const mayBeIn = ({ requestId = '', token: { groupId } }: ClientRequest) =>
      groupId !== undefined && (groupOf.get(requestId) ?? group.groupId) === group.groupId;
    const others = evidence.requests.filter((other) => other !== request && mayBeIn(other));
    if (limit === 'group_requests_per_minute') {
      return others.filter((other) => mayHaveTaken(other, since(fromMs))).length < group.requestsPerMinute;
    }
    const running = others.filter((other) => mayRun(other, since(sentAtMs - settledWithinMs)));
    if (limit === 'concurrency') return running.length < group.concurrentRequests;
    const isLater = (requestId: string) => (sentAtMsOf.get(requestId.split('/')[0]) ?? 0) > headAtMs;
    const ofGroup = evidence.rows.filter(({ groupId, requestId }) => groupId === group.groupId && !isLater(requestId));
    const spent = ofGroup.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
    // The budget has them, and the ledger may not.
    const lost = others.filter((other) => isAnswered(other) && mayBeLost(evidence, other));
    const amount = Math.min(...budgetsBetween(group, sentAtMs, headAtMs));
    // A request may cross a budget of which nothing else is reserved.
    if (running.length + lost.length === 0) return spent < amount;
    return spent + (running.length + lost.length + 1) * mostReserved < amount;
  });
}

/** Longer than an edge needs to return what a request took, once its client has its answer. */
const settledWithinMs = 3_000;

/** `RESERVED_OUTPUT_TOKENS_MAX` at the dearest price, and some input: millionths. */
const mostReserved = 17_000;

function mayHaveTaken({ code, sentAtMs, headAtMs, endedAtMs }: ClientRequest, { fromMs, untilMs }: Trouble): boolean {
  return code !== 'rate_limit_exceeded' && sentAtMs <= untilMs && (headAtMs ?? endedAtMs ?? untilMs) >= fromMs;
}

function mayRun({ code, sentAtMs, endedAtMs }: ClientRequest, { fromMs, untilMs }: Trouble): boolean {
  return code !== 'rate_limit_exceeded' && sentAtMs <= untilMs && (endedAtMs ?? untilMs) >= fromMs;
}
