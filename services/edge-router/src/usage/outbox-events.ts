import { statfsSync } from 'node:fs';
import type { Metrics } from '@gateway/telemetry';

export type OutboxEvents = ReturnType<typeof createOutboxEvents>;

/** Metrics of the outbox; `onFault` receives failures for the log. */
export function createOutboxEvents(metrics: Metrics, onFault: (part: 'outbox' | 'delivery', fault: unknown) => void) {
  const gauge = (name: string, help: string) => metrics.gauge({ name: `gateway_edge_outbox_${name}`, help });
  const counter = (name: string, help: string) => metrics.counter({ name: `gateway_edge_outbox_${name}`, help });
  const backlog = {
    events: gauge('backlog_events', 'Ended requests that the ledger has not confirmed yet.'),
    bytes: gauge('backlog_bytes', 'Size of the outbox on disk, including the files of dead processes.'),
    oldestSeconds: gauge(
      'oldest_event_seconds',
      'Age of the oldest request record that the ledger has not confirmed yet.',
    ),
  };
  const writeErrors = counter('write_errors_total', 'Failed writes to the outbox. The usage is then in memory only.');
  const lost = counter('lost_events_total', 'Request records lost because neither disk nor memory had room.');
  const damaged = counter('damaged_total', 'Unreadable files (moved aside) and rows of the outbox.');
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
        rows === undefined ? `${path} cannot be read and was moved aside` : `${path}: ${rows} rows cannot be read`;
      onFault('outbox', new Error(what));
    },
    /** Neither disk nor memory had room for an event. */
    lost(): void {
      lost.inc();
      // Logged once, because there may be hundreds a second.
      if (!isLosing) onFault('outbox', new Error('usage is lost: the outbox cannot be written, and memory is full'));
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
  gauge('free_bytes', 'Free space on the disk of the outbox.', 'bavail');
  gauge('size_bytes', 'Size of the disk of the outbox.', 'blocks');
}
