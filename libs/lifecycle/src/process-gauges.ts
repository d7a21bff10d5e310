import { type Gauge, readBuild } from '@gateway/telemetry';
import type { ServiceRuntime } from './service.ts';

/** What every process says of itself: its build, its clock, whether it drains, and until when its certificate is valid. */
export function processGauges({ metrics, tls }: ServiceRuntime): { readonly draining: Gauge } {
  const info = { name: 'gateway_build_info', help: 'Always 1; the labels say which build runs.' };
  metrics.gauge({ ...info, labels: ['version', 'revision'] }).set({ ...readBuild() }, 1);
  metrics.gauge({
    name: 'gateway_clock_timestamp_seconds',
    help: "The process's clock at the moment of the scrape.",
    read: () => Date.now() / 1_000,
  });
  if (tls !== undefined) {
    metrics.gauge({
      name: 'gateway_certificate_not_after_timestamp_seconds',
      help: 'When the certificate that this process proves itself with ends.',
      read: () => tls.notAfter.getTime() / 1_000,
    });
  }
  return {
    draining: metrics.gauge({
      name: 'gateway_draining',
      help: '1 while the process stops: it takes nothing new and lets running work end.',
    }),
  };
}
