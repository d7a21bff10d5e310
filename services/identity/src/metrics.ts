import type { Metrics } from '@gateway/telemetry';

/** What is counted in identity. */
export interface IdentityMetrics {
  resolved(result: 'valid' | 'revoked' | 'unknown'): void;
}

export function identityMetrics(metrics: Metrics): IdentityMetrics {
  const resolutions = metrics.counter({
    name: 'gateway_token_resolutions_total',
    help: 'Presented tokens that were looked up, by what they turned out to be.',
    labels: ['result'],
  });
  return { resolved: (result) => resolutions.inc({ result }) };
}
