import { Metrics } from '@gateway/telemetry';
import { createLimiterMetrics } from '../src/metrics.ts';

/** Metrics that a test reads. */
export function watchedMetrics() {
  const metrics = new Metrics();
  return {
    metrics: createLimiterMetrics(metrics),
    /** The value of `gateway_limiter_<name>` without labels. */
    valueOf: async (name: string) =>
      (await metrics.registry.getSingleMetric(`gateway_limiter_${name}`)?.get())?.values[0]?.value,
  };
}
