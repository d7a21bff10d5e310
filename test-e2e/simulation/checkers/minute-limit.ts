import type { ClientToken } from '../clients/client.ts';
import {
  areTogether,
  type Checker,
  type Evidence,
  groupsById,
  isAnswered,
  limitsBetween,
  madeAlone,
  staleAnswers,
  windowMs,
} from './evidence.ts';

/** Between these two the request was admitted. */
interface Interval {
  readonly sentAtMs: number;
  readonly headAtMs: number;
}

/**
 * An admission happens between the request and the head of its answer. If more answers than the
 * limit lie whole within a minute, their admissions do too.
 *
 * In outages edges decide alone, by their parts. docs/limiter/outages.md states the bounds: load
 * that moves from one edge to another adds less than the limit. When all are back, they have handed
 * over what they admitted: a request that is admitted then finds at most the limit in the minute
 * before, whatever happened in the outage.
 */
export const minuteLimit: Checker = {
  promise: 'at most `limit` admissions in any 60 s, for any number of replicas and clients',
  check(evidence: Evidence) {
    const admitted = evidence.requests.filter(isAnswered);
    const groupOf = groupsById(evidence);
    const ofGroup = Map.groupBy(admitted, ({ requestId = '' }) => groupOf.get(requestId));
    // A group has a limit of its own, which no change in the world lowers.
    const groups = evidence.groups.map(({ groupId, requestsPerMinute }) => {
      const token = { tokenId: groupId, text: '', requestsPerMinute, clients: 0 };
      return [token, ofGroup.get(groupId) ?? []] as const;
    });
    return [...Map.groupBy(admitted, ({ token }) => token), ...groups].flatMap(([token, requests]) => {
      const intervals = requests.map(({ sentAtMs, headAtMs = sentAtMs }) => ({ sentAtMs, headAtMs }));
      const { tokenId, requestsPerMinute: limit } = token;
      return [...overBound(evidence, intervals, limit), ...overLimitTogether(evidence, intervals, token)].map(
        (what) => `${tokenId} of ${limit} in a minute: ${what}`,
      );
    });
  },
};

function overBound(evidence: Evidence, intervals: readonly Interval[], limit: number): readonly string[] {
  return intervals.flatMap(({ sentAtMs: fromMs }) => {
    const inside = within(intervals, fromMs, fromMs + windowMs);
    const bound = limit + Math.min(madeAlone(evidence, fromMs, fromMs + windowMs), limit - 1);
    const excess = inside.length - lost(evidence, inside) - bound;
    return excess <= 0 ? [] : [`${inside.length} from ${fromMs}, where outages allow ${bound}`];
  });
}

/** Requests that were admitted when all processes were back, although the minute was full. */
function overLimitTogether(evidence: Evidence, intervals: readonly Interval[], token: ClientToken): readonly string[] {
  return intervals.flatMap((interval) => {
    const { sentAtMs, headAtMs } = interval;
    if (!areTogether(evidence, sentAtMs - settledMs, headAtMs)) return [];
    const before = within(intervals, headAtMs - windowMs + 1, sentAtMs).filter((other) => other !== interval);
    const limit = limitAt(evidence, token, interval);
    const excess = before.length - lost(evidence, before) - limit + 1;
    return excess <= 0 ? [] : [`${before.length + 1} until ${headAtMs}, of ${limit}, with all processes in touch`];
  });
}

/** While identity does not answer, edges use the limits that they know. */
function limitAt(evidence: Evidence, token: ClientToken, { sentAtMs, headAtMs }: Interval): number {
  if (staleAnswers(evidence, sentAtMs, headAtMs) > 0) return token.requestsPerMinute;
  return Math.max(...limitsBetween(evidence, token, sentAtMs, headAtMs));
}

function within(intervals: readonly Interval[], fromMs: number, untilMs: number): readonly Interval[] {
  return intervals.filter(({ sentAtMs, headAtMs }) => sentAtMs >= fromMs && headAtMs < untilMs);
}

/** How many of these Redis may have lost after it had acknowledged them. */
function lost({ redisLosses }: Evidence, intervals: readonly Interval[]): number {
  return intervals.filter(({ sentAtMs, headAtMs }) =>
    redisLosses.some(({ fromMs, untilMs }) => sentAtMs <= untilMs && headAtMs >= fromMs),
  ).length;
}

/** Longer than the time for which an edge keeps to its part after its return. */
const settledMs = 12_000;
