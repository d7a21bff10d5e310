import type { Metrics } from '@gateway/telemetry';

export function identityMetrics(metrics: Metrics) {
  return {
    resolutions: metrics.counter({
      name: 'gateway_token_resolutions_total',
      help: 'Presented tokens that were looked up, by what they turned out to be.',
      labels: ['result'],
    }),
  };
}
