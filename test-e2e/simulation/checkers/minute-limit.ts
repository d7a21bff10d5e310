import { type Checker, type Evidence, isAnswered, madeAlone } from './evidence.ts';

const windowMs = 60_000;

/** Between these two the request was admitted. */
interface Interval {
  readonly sentAtMs: number;
  readonly headAtMs: number;
}

/**
 * An admission happens between the request and the head of its answer. If more answers than the
 * limit lie whole within a minute, their admissions do too.
 *
 * In outages processes decide alone, by their shares: docs/limiter/outages.md says by how much that
 * can exceed the limit. Here each decision alone may explain one admission too many, and so does
 * each that Redis lost after it had acknowledged it.
 */
export const minuteLimit: Checker = {
  promise: 'at most `limit` admissions in any 60 s, for any number of replicas and clients',
  check(evidence: Evidence) {
    const { requests, redisLosses } = evidence;
    const mayBeLost = ({ sentAtMs, headAtMs }: Interval) =>
      redisLosses.some(({ fromMs, untilMs }) => sentAtMs <= untilMs && headAtMs >= fromMs);
    return [...Map.groupBy(requests.filter(isAnswered), ({ token }) => token)].flatMap(([token, ofToken]) => {
      const intervals = ofToken.map(({ sentAtMs, headAtMs = sentAtMs }) => ({ sentAtMs, headAtMs }));
      for (const { sentAtMs: fromMs } of intervals) {
        const inside = intervals.filter(({ sentAtMs, headAtMs }) => sentAtMs >= fromMs && headAtMs < fromMs + windowMs);
        const excess = inside.length - inside.filter(mayBeLost).length - token.requestsPerMinute;
        const alone = madeAlone(evidence, fromMs, fromMs + windowMs);
        if (excess <= 0 || excess <= alone) continue;
        const most = `${inside.length} of at most ${token.requestsPerMinute}`;
        return [`token ${token.tokenId}: ${most} in the minute from ${fromMs}, ${alone} decided alone`];
      }
      return [];
    });
  },
};
