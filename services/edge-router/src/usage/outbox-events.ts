import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Metrics } from '@gateway/telemetry';

/** What operators learn of the outbox. */
export interface OutboxEvents {
  /** A delivery failed. It is repeated. */
  deliveryFailed(fault: unknown): void;
  /** Something else failed behind the requests, and is tried again. */
  faulted(fault: unknown): void;
  /** The disk took nothing: usage waits in memory. */
  writeFailed(fault: unknown): void;
  /** A file can't be read, or so many rows of it. */
  damaged(path: string, rows: number | undefined): void;
  /** An event that neither disk nor memory had room for: it will not be in the ledger. */
  lost(event: UsageRecorded): void;
  backlog(backlog: OutboxBacklog): void;
}

export interface OutboxBacklog {
  /** Finished requests of this process that the ledger has not confirmed. */
  readonly events: number;
  /** How long the oldest of them has waited; 0 when none waits. */
  readonly oldestSeconds: number;
  /** Size of all files in the folder. */
  readonly bytes: number;
}

export type OutboxFault = (part: 'outbox' | 'delivery', fault: unknown) => void;

/** Metrics of the outbox; `onFault` gets what went wrong, for the log. */
export function createOutboxEvents(metrics: Metrics, onFault: OutboxFault): OutboxEvents {
  const gauge = (name: string, help: string) => metrics.gauge({ name: `gateway_edge_outbox_${name}`, help });
  const counter = (name: string, help: string) => metrics.counter({ name: `gateway_edge_outbox_${name}`, help });
  const backlogEvents = gauge('backlog_events', 'Usage and log entries of requests that the ledger has not confirmed.');
  const backlogBytes = gauge('backlog_bytes', 'Size of the outbox on disk, with what dead processes left.');
  const oldest = gauge('oldest_event_seconds', 'Age of the oldest usage that the ledger has not confirmed.');
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
    deliveryFailed: (fault) => onFault('delivery', fault),
    faulted: (fault) => onFault('outbox', fault),
    writeFailed(fault) {
      writeErrors.inc();
      onFault('outbox', fault);
    },
    damaged(path, rows) {
      damaged.inc(rows ?? 1);
      onFault(
        'outbox',
        new Error(
          rows === undefined ? `${path} can't be read and is set aside` : `${path}: ${rows} rows can't be read`,
        ),
      );
    },
    lost() {
      lost.inc();
      // Once: there may be hundreds a second.
      if (!isLosing) onFault('outbox', new Error('usage is lost: the outbox can not be written, and memory is full'));
      isLosing = true;
    },
    backlog({ events, bytes, oldestSeconds }) {
      isLosing = false;
      backlogEvents.set(events);
      backlogBytes.set(bytes);
      oldest.set(oldestSeconds);
    },
  };
}
