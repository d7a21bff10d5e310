import type { GatewayError } from '@gateway/errors';
import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import type { Logger, Metrics } from '@gateway/telemetry';
import { RequestMetrics } from './request-metrics.ts';
import { isPlainSuccess, toLogFields } from './usage/request-log.ts';

/** Requests without a token of ours come from anybody, and as many as they like. */
function isWorthALine(request: RequestLogged): boolean {
  return request.tokenId !== '' && !isPlainSuccess(request);
}

/** Everything the edge tells operators, one function per event. */
export type RequestEvents = ReturnType<typeof createEvents>;

/** What events are told with. */
export interface EventOutlets {
  readonly logger: EventLog;
  readonly metrics: Metrics;
}

export interface EventLog extends Pick<Logger, 'isLevelEnabled'> {
  readonly debug: WriteLine;
  readonly info: WriteLine;
  readonly warn: WriteLine;
  readonly error: WriteLine;
}

type WriteLine = (fields: object, message: string) => void;

export function createEvents({ logger, metrics }: EventOutlets) {
  const requests = new RequestMetrics(metrics);
  const degraded = metrics.counter({
    name: 'gateway_edge_local_admissions_total',
    help: 'Admissions decided by this edge alone because the limiter did not answer.',
  });
  const reportsGivenUp = metrics.counter({
    name: 'gateway_edge_attempt_reports_given_up_total',
    help: 'Ends of attempts that no broker could be told of. Each keeps a place of an account until its lease ends.',
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
      requests.started();
    },
    /** Once for each request that has started. */
    requestEnded(request: RequestLogged): void {
      requests.ended(request.endpoint, request.status, (request.moments?.ended ?? 0) / 1_000);
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
