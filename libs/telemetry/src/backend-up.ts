import type { Metrics } from './metrics.ts';

export type Backend = 'redis' | 'postgres' | 'nats';

/** How a store says whether its servers answered the last time that they were asked or used: `const isUp = backendUp(metrics, 'redis')`. */
export function backendUp(metrics: Metrics, backend: Backend): (isUp: boolean) => void {
  const gauge = metrics.gauge({
    name: 'gateway_backend_up',
    help: 'Whether servers that keep state answered the last time that this process asked or used them.',
    labels: ['backend'],
  });
  return (isUp) => gauge.set({ backend }, isUp ? 1 : 0);
}
