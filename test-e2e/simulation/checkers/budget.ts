import { areTogether, budgetsBetween, type Checker, type Evidence, isAnswered, windowMs } from './evidence.ts';

export const budget: Checker = {
  promise: 'a group whose budget is spent gets no answer until the budget’s next period, but for outages',
  check(evidence: Evidence) {
    const { groups, rows, requests } = evidence;
    const byId = new Map(requests.map((request) => [request.requestId, request]));
    return groups.flatMap((group) => {
      const ofGroup = rows.filter(({ groupId }) => groupId === group.groupId);
      const costs = ofGroup.map((row) => {
        const request = byId.get(row.requestId.split('/')[0]);
        return { ...row, request, endedAtMs: request?.endedAtMs ?? Number.POSITIVE_INFINITY };
      });
      return costs.flatMap(({ request, localDay }) => {
        if (request === undefined || !isAnswered(request)) return [];
        const { marker, sentAtMs, headAtMs = sentAtMs } = request;
        if (!areTogether(evidence, sentAtMs - windowMs, headAtMs) || isRedisYoung(evidence, sentAtMs)) return [];
        const before = costs.filter((row) => row.localDay === localDay && row.endedAtMs + settledMs <= sentAtMs);
        const spent = before.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
        const amount = Math.max(...budgetsBetween(group, sentAtMs, headAtMs));
        return spent < amount ? [] : [`${marker} at ${sentAtMs} is answered after ${spent} of ${amount} micros`];
      });
    });
  },
};

/** Longer than an edge needs to settle a request that has ended. */
const settledMs = 3_000;

/** Whether Redis may still lack what it lost: limiters compare their counters with the ledger. */
function isRedisYoung({ redisLosses }: Evidence, nowMs: number): boolean {
  return redisLosses.some(({ untilMs }) => nowMs >= untilMs && nowMs - untilMs < windowMs);
}
