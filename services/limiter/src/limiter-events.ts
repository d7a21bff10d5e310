import type { ServiceRuntime } from '@gateway/lifecycle';
import type { Decision } from './windows/limit-status.ts';

/** What happens in the limiter that operators want to see: one function per event. */
export interface LimiterEvents {
  decided(decisions: readonly Decision[]): void;
  /** A decision or a reading was made from this process' own windows. */
  degraded(): void;
  /** The shared store failed; `reason` is the driver's text. */
  outageBegan(reason: string): void;
  outageEnded(durationMs: number): void;
  /** The shared store was told of requests that this process had admitted in the last minute. */
  admissionsHandedOver(count: number): void;
  /** Settles that wait for the shared store, as it stands now. */
  settlesPending(count: number): void;
  settleDropped(): void;
  dayTotalLoadFailed(reason: string): void;
  /** A day counter differed from the ledger and was put right; by how many tokens. */
  dayCorrected(tokens: number): void;
}

export function createLimiterEvents({ logger, metrics }: ServiceRuntime): LimiterEvents {
  const decisions = metrics.counter({
    name: 'gateway_limiter_decisions_total',
    help: 'Requests decided, by outcome: admitted, or the limit that refused.',
    labels: ['outcome'],
  });
  const degraded = metrics.counter({
    name: 'gateway_limiter_degraded_total',
    help: 'Decisions made from local windows because the shared store could not be asked.',
  });
  const outages = metrics.counter({
    name: 'gateway_limiter_store_outages_total',
    help: 'Times that the shared store stopped answering.',
  });
  const away = metrics.gauge({
    name: 'gateway_limiter_store_away',
    help: '1 while the shared store does not answer, else 0.',
  });
  const handedOver = metrics.counter({
    name: 'gateway_limiter_handed_over_admissions_total',
    help: 'Admissions of the last minute that the shared store was told of when it answered again.',
  });
  const pending = metrics.gauge({
    name: 'gateway_limiter_pending_settles',
    help: 'Settles kept until the shared store answers again.',
  });
  const dropped = metrics.counter({
    name: 'gateway_limiter_dropped_settles_total',
    help: 'Settles given up because too many were pending: the day budget is short of them until it is reconciled.',
  });
  const loadFailures = metrics.counter({
    name: 'gateway_limiter_day_total_load_failures_total',
    help: 'Day totals that could not be loaded from the usage ledger.',
  });
  const corrections = metrics.counter({
    name: 'gateway_limiter_day_corrections_total',
    help: 'Day counters that differed from the usage ledger and were put right.',
  });
  return {
    decided(all) {
      const counts = { admitted: 0, requests_per_minute: 0, tokens_per_day: 0 };
      for (const decision of all) counts[decision.kind === 'admitted' ? 'admitted' : decision.refusal.limit] += 1;
      for (const outcome of outcomes) if (counts[outcome] > 0) decisions.inc({ outcome }, counts[outcome]);
    },
    degraded: () => degraded.inc(),
    outageBegan(reason) {
      outages.inc();
      away.set(1);
      logger.warn({ reason }, 'the shared store does not answer');
    },
    outageEnded(durationMs) {
      away.set(0);
      logger.info({ durationMs }, 'the shared store answers again');
    },
    admissionsHandedOver: (count) => handedOver.inc(count),
    settlesPending: (count) => pending.set(count),
    settleDropped: () => dropped.inc(),
    dayTotalLoadFailed(reason) {
      loadFailures.inc();
      logger.warn({ reason }, 'a day total could not be loaded: its budget counts from zero for now');
    },
    dayCorrected(tokens) {
      corrections.inc();
      logger.info({ tokens }, 'a day counter differed from the usage ledger and was put right');
    },
  };
}

const outcomes = ['admitted', 'requests_per_minute', 'tokens_per_day'] as const;
