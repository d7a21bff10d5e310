import { statfsSync } from 'node:fs';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Metrics } from '@gateway/telemetry';

export type OutboxEvents = ReturnType<typeof createOutboxEvents>;

/** Metrics of the outbox; `onFault` receives failures for the log. */
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
    /** A file can't be read, or this many of its rows. */
    damaged(path: string, rows?: number): void {
      damaged.inc(rows ?? 1);
      const what =
        rows === undefined ? `${path} can't be read and is set aside` : `${path}: ${rows} rows can't be read`;
      onFault('outbox', new Error(what));
    },
    /** Neither disk nor memory had room for an event. */
    lost(_event: UsageRecorded): void {
      lost.inc();
      // Logged once, because there may be hundreds a second.
      if (!isLosing) onFault('outbox', new Error('usage is lost: the outbox can not be written, and memory is full'));
      isLosing = true;
    },
    /**
     * What the ledger has not confirmed: the number of events of this process, the age of the
     * oldest, and the size of all files.
     */
    backlog(values: Readonly<Record<keyof typeof backlog, number>>): void {
      isLosing = false;
      backlog.events.set(values.events);
      backlog.bytes.set(values.bytes);
      backlog.oldestSeconds.set(values.oldestSeconds);
    },
  };
}

/** The free space on the outbox's disk: without any, nothing can be recorded. */
export function showOutboxDisk(metrics: Metrics, folder: string): void {
  const gauge = (name: string, help: string, blocks: 'bavail' | 'blocks') => {
    const read = () => {
      const disk = statfsSync(folder);
      return disk[blocks] * disk.bsize;
    };
    metrics.gauge({ name: `gateway_edge_outbox_disk_${name}`, help, read });
  };
  gauge('free_bytes', 'What is free of the disk that the outbox is on.', 'bavail');
  gauge('size_bytes', 'The size of the disk that the outbox is on.', 'blocks');
}
