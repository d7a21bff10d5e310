import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Metrics } from '@gateway/telemetry';
import type { JournalBacklog } from './journal-backlog.ts';

/** Everything that the journal tells operators. */
export interface JournalEvents {
  /** Something failed behind the requests and is tried again. */
  faulted(fault: unknown): void;
  /** A file could not be made, written or forced onto the disk. */
  writeFailed(fault: unknown): void;
  /** A line that can't be read: `torn` at the end of a file, as a kill or a full disk leaves it, else `corrupt`. */
  lineDamaged(damage: 'torn' | 'corrupt', path: string): void;
  /** Events that were read back from disk are confirmed. */
  drained(events: number): void;
  /** An event that neither disk nor memory had room for: it will not be in the ledger. */
  lost(event: UsageRecorded): void;
  backlogIs(backlog: JournalBacklog): void;
}

/** Tells them as metrics; `onFault` is given what went wrong, for the log. */
export function createJournalEvents(metrics: Metrics, onFault: (fault: unknown) => void): JournalEvents {
  const gauge = (name: string, help: string) => metrics.gauge({ name: `gateway_edge_journal_${name}`, help });
  const counter = (name: string, help: string) => metrics.counter({ name: `gateway_edge_journal_${name}`, help });
  const backlogEvents = gauge('backlog_events', "This process' finished requests that the ledger has not confirmed.");
  const backlogBytes = gauge('backlog_bytes', 'Size of the journal on disk, with what dead processes left.');
  const segments = gauge('segments', 'Files of the journal.');
  const oldest = gauge('oldest_event_seconds', 'Age of the oldest usage that the ledger has not confirmed.');
  const writeErrors = counter(
    'write_errors_total',
    'Failures to write to the journal; usage then waits in memory only.',
  );
  const drained = counter('drained_events_total', 'Events that were read back from disk and confirmed.');
  const lost = counter('lost_events_total', 'Events dropped because neither disk nor memory had room: never booked.');
  const damaged = metrics.counter({
    name: 'gateway_edge_journal_damaged_lines_total',
    help: 'Lines that could not be read: torn at the end of a file, or corrupt.',
    labels: ['damage'],
  });
  let losing = false;

  return {
    faulted: onFault,
    writeFailed(fault) {
      writeErrors.inc();
      onFault(fault);
    },
    lineDamaged(damage, path) {
      damaged.inc({ damage });
      if (damage === 'corrupt') onFault(new Error(`a line of ${path} can't be read`));
    },
    drained(events) {
      drained.inc(events);
    },
    lost() {
      lost.inc();
      // Once: there may be hundreds a second.
      if (!losing) onFault(new Error('usage is lost: the journal can not be written, and memory is full'));
      losing = true;
    },
    backlogIs(backlog) {
      losing = false;
      backlogEvents.set(backlog.events);
      backlogBytes.set(backlog.bytes);
      segments.set(backlog.segments);
      oldest.set(backlog.oldestSeconds);
    },
  };
}
