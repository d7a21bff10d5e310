import type { GatewayError } from '@gateway/errors';
import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import { durationBucketsSeconds, type Logger, type Metrics } from '@gateway/telemetry';
import { isPlainSuccess, toLogFields } from './usage/request-log.ts';

/** What operators get to know of the edge: one function per event. */
export type RequestEvents = ReturnType<typeof createEvents>;

export type EventLog = Pick<Logger, 'isLevelEnabled'> &
  Readonly<Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>>;

export function createEvents({ logger, metrics }: { readonly logger: EventLog; readonly metrics: Metrics }) {
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
  const inFlight = metrics.gauge({ name: 'gateway_requests_in_flight', help: 'Requests under way.' });
  const degraded = metrics.counter({
    name: 'gateway_edge_local_admissions_total',
    help: 'Admissions decided by this edge alone because the limiter did not answer.',
  });
  const reportsGivenUp = metrics.counter({
    name: 'gateway_edge_attempt_reports_given_up_total',
    help: 'Ends of attempts that no broker took. Each keeps a place of an account until its lease ends.',
  });
  const stalledClients = metrics.counter({
    name: 'gateway_edge_stalled_clients_total',
    help: 'Connections that were cut off because their clients took nothing of an answer for WRITE_STALL_SECONDS.',
  });
  const faults = metrics.counter({
    name: 'gateway_edge_faults_total',
    help: 'Failures behind the edge that clients did not see, by what failed.',
    labels: ['part'],
  });

  return {
    requestStarted(): void {
      inFlight.inc();
    },
    /** Once for each request that has started. */
    requestEnded(request: RequestLogged): void {
      const { endpoint, status, moments } = request;
      inFlight.dec();
      requests.inc({ endpoint, status: String(status) });
      durations.observe({ endpoint }, (moments?.ended ?? 0) / 1_000);
      const level = isWorthALine(request) ? 'info' : 'debug';
      if (logger.isLevelEnabled(level)) logger[level](toLogFields(request), 'request finished');
    },
    requestFaulted(requestId: string, endpoint: string, error: GatewayError): void {
      logger.error({ requestId, endpoint, err: error.cause ?? error }, 'a request failed by a fault of ours');
    },
    admittedLocally(): void {
      degraded.inc();
    },
    limiterAway(fault: unknown): void {
      logger.warn({ err: fault }, 'the limiter does not answer; this edge decides alone');
    },
    limiterBack(awayMs: number): void {
      logger.info({ awayMs }, 'the limiter answers again, and has what was admitted without it');
    },
    clientStalled(): void {
      stalledClients.inc();
    },
    reportGivenUp(fault: unknown, requestId: string): void {
      reportsGivenUp.inc();
      logger.warn(
        { requestId, err: fault },
        'no broker took the end of an attempt: its place is free when its lease ends',
      );
    },
    /** `requestId` where the fault is about one request. */
    faulted(part: 'outbox' | 'delivery' | 'charge' | 'identity' | 'renewal', fault: unknown, requestId?: string): void {
      faults.inc({ part });
      logger.warn({ part, requestId, err: fault }, 'a part behind the edge failed; it is tried again');
    },
  };
}

/** Requests without a token of ours come from anybody, and as many as they like. */
function isWorthALine(request: RequestLogged): boolean {
  return request.tokenId !== '' && !isPlainSuccess(request);
}
