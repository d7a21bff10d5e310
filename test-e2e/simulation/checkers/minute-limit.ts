import { type Checker, type Evidence, isAnswered } from './evidence.ts';

const windowMs = 60_000;

interface Interval {
  readonly sentAtMs: number;
  readonly headAtMs: number;
}

/**
 * An admission happens between the request and the head of its answer. If more answers than the
 * limit lie whole within a minute, their admissions do too.
 */
export const minuteLimit: Checker = {
  promise: 'at most `limit` admissions in any 60 s, for any number of replicas and clients',
  check({ requests, redisLosses }: Evidence) {
    const mayBeLost = ({ sentAtMs, headAtMs }: Interval) =>
      redisLosses.some(({ fromMs, untilMs }) => sentAtMs <= untilMs && headAtMs >= fromMs);
    const answered = requests.filter(isAnswered);
    return [...Map.groupBy(answered, ({ token }) => token)].flatMap(([token, ofToken]) => {
      const intervals = ofToken.map(({ sentAtMs, headAtMs = sentAtMs }) => ({ sentAtMs, headAtMs }));
      for (const { sentAtMs: fromMs } of intervals) {
        const inside = intervals.filter(({ sentAtMs, headAtMs }) => sentAtMs >= fromMs && headAtMs < fromMs + windowMs);
        if (inside.length - inside.filter(mayBeLost).length <= token.requestsPerMinute) continue;
        return [
          `token ${token.tokenId}: ${inside.length} of at most ${token.requestsPerMinute} in the minute from ${fromMs}`,
        ];
      }
      return [];
    });
  },
};
