import type { GatewayError } from '@gateway/errors';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Logger, Metrics } from '@gateway/telemetry';
import { createRequestMetrics, type GenAiOperation } from './request-metrics.ts';
import { isPlainSuccess, toLogFields } from './usage/describe-request.ts';
import type { RequestLogEntry } from './usage/request-log.ts';

export type RequestEvents = ReturnType<typeof createEvents>;

export type EventLog = Pick<Logger, 'isLevelEnabled'> &
  Readonly<Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>>;

/** Metrics and log lines of the edge. */
export function createEvents({ logger, metrics }: { readonly logger: EventLog; readonly metrics: Metrics }) {
  const requestMetrics = createRequestMetrics(metrics);
  const localAdmissions = metrics.counter({
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
  for (const part of parts) faults.inc({ part }, 0);
  return {
    ...requestMetrics,
    /** Once for each request that has started. */
    requestEnded(method: string, operation: GenAiOperation | undefined, entry: RequestLogEntry): void {
      requestMetrics.requestEnded(method, operation, entry);
      // Anybody can send requests without a token of ours, as many as they like.
      const level = entry.message.tokenId === '' || isPlainSuccess(entry.message) ? 'debug' : 'info';
      if (logger.isLevelEnabled(level)) logger[level](toLogFields(entry.message), 'request finished');
    },
    requestFaulted(requestId: string, endpoint: string, error: GatewayError): void {
      logger.error(
        { request_id: requestId, endpoint, err: error.cause ?? error },
        'a request failed by a fault of ours',
      );
    },
    admittedLocally: () => localAdmissions.inc(),
    limiterAway(fault: unknown): void {
      const reason = fault instanceof Error ? fault.message : String(fault);
      logger.warn({ reason }, 'the limiter does not answer; this edge decides alone');
    },
    limiterBack(awayMs: number): void {
      logger.info({ awayMs }, 'the limiter answers again, and has what was admitted without it');
    },
    clientStalled: () => stalledClients.inc(),
    reportGivenUp(err: unknown, requestId: string): void {
      reportsGivenUp.inc();
      logger.warn(
        { request_id: requestId, err },
        'no broker took the end of an attempt: its place is free when its lease ends',
      );
    },
    /** `requestId` where the fault is about one request. */
    faulted(part: Part, err: unknown, requestId?: string): void {
      faults.inc({ part });
      logger.warn({ part, request_id: requestId, err }, 'a part behind the edge failed; it is tried again');
    },
  };
}

/** What fails behind the edge. */
const parts = ['outbox', 'delivery', 'charge', 'identity', 'renewal'] as const;
type Part = (typeof parts)[number];

export type OutboxEvents = ReturnType<typeof createOutboxEvents>;

/** Metrics of the outbox; `onFault` gets what went wrong, for the log. */
export function createOutboxEvents(metrics: Metrics, onFault: (part: 'outbox' | 'delivery', fault: unknown) => void) {
  const gauge = (name: string, help: string) => metrics.gauge({ name: `gateway_edge_outbox_${name}`, help });
  const counter = (name: string, help: string) => metrics.counter({ name: `gateway_edge_outbox_${name}`, help });
  const backlog = {
    events: gauge('backlog_events', 'Usage and log entries of requests that the ledger has not confirmed.'),
    bytes: gauge('backlog_bytes', 'Size of the outbox on disk, with what dead processes left.'),
    oldestSeconds: gauge('oldest_event_seconds', 'Age of the oldest usage that the ledger has not confirmed.'),
  };
  const writeErrors = counter(
    'write_errors_total',
    'Failures to write to the outbox; usage then waits in memory only.',
  );
  const lost = counter(
    'lost_events_total',
    'Events dropped because neither disk nor memory had room: never in the ledger.',
  );
  const damaged = counter('damaged_total', 'Files that could not be read and were set aside, and single rows.');
  let isLosing = false;

  return {
    deliveryFailed: (fault: unknown) => onFault('delivery', fault),
    faulted: (fault: unknown) => onFault('outbox', fault),
    writeFailed(fault: unknown): void {
      writeErrors.inc();
      onFault('outbox', fault);
    },
    /** A file can't be read, or so many rows of it. */
    damaged(path: string, rows?: number): void {
      damaged.inc(rows ?? 1);
      const what =
        rows === undefined ? `${path} can't be read and is set aside` : `${path}: ${rows} rows can't be read`;
      onFault('outbox', new Error(what));
    },
    /** Neither disk nor memory had room for an event. */
    lost(_event: UsageRecorded): void {
      lost.inc();
      // Once: there may be hundreds a second.
      if (!isLosing) onFault('outbox', new Error('usage is lost: the outbox can not be written, and memory is full'));
      isLosing = true;
    },
    /** What the ledger has not confirmed: how many events of this process, since when, and the size of all files. */
    backlog(values: Readonly<Record<keyof typeof backlog, number>>): void {
      isLosing = false;
      backlog.events.set(values.events);
      backlog.bytes.set(values.bytes);
      backlog.oldestSeconds.set(values.oldestSeconds);
    },
  };
}
