import type { GatewayError } from '@gateway/errors';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { durationBucketsSeconds } from '@gateway/telemetry';

/** Everything the edge tells operators, one function per event. */
export type RequestEvents = ReturnType<typeof createEvents>;

export function createEvents({ logger, metrics }: ServiceRuntime) {
  const requests = metrics.counter({
    name: 'gateway_requests_total',
    help: 'Requests by endpoint and HTTP status; 499 when the client left before the end.',
    labels: ['endpoint', 'status'],
  });
  const durations = metrics.histogram({
    name: 'gateway_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer.',
    labels: ['endpoint'],
    buckets: durationBucketsSeconds,
  });
  const running = metrics.gauge({ name: 'gateway_requests_in_flight', help: 'Requests under way.' });
  const degraded = metrics.counter({
    name: 'gateway_edge_local_admissions_total',
    help: 'Admissions decided by this edge alone because the limiter did not answer.',
  });
  const faults = metrics.counter({
    name: 'gateway_edge_faults_total',
    help: 'Failures behind the edge that clients did not see, by what failed.',
    labels: ['part'],
  });

  return {
    /** Returns the function to call when the request has ended. */
    requestStarted(endpoint: string): (status: number, requestId: string) => void {
      const startedAt = process.hrtime.bigint();
      running.inc();
      return (status, requestId) => {
        const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
        running.dec();
        requests.inc({ endpoint, status: String(status) });
        durations.observe({ endpoint }, seconds);
        logger.debug({ requestId, endpoint, status, seconds }, 'request finished');
      };
    },
    requestFaulted(requestId: string, endpoint: string, error: GatewayError): void {
      logger.error({ requestId, endpoint, err: error.cause ?? error }, 'a request failed by a fault of ours');
    },
    admittedLocally(fault: unknown): void {
      degraded.inc();
      logger.warn({ err: fault }, 'the limiter did not answer; this edge decided alone');
    },
    faulted(part: 'journal' | 'delivery' | 'charge' | 'identity', fault: unknown): void {
      faults.inc({ part });
      logger.warn({ part, err: fault }, 'a part behind the edge failed; it is tried again');
    },
  };
}
