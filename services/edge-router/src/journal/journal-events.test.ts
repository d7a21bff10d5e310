import { Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { usageEvent } from './__fixtures__/test-edge.ts';
import { createJournalEvents } from './journal-events.ts';

describe('what the journal tells operators', () => {
  const setUp = () => {
    const metrics = new Metrics();
    const faults: unknown[] = [];
    return { metrics, faults, events: createJournalEvents(metrics, (fault) => faults.push(fault)) };
  };

  it('are metrics', async () => {
    const { metrics, events } = setUp();
    events.backlogIs({ events: 7, heldEvents: 5, bytes: 900, segments: 2, oldestSeconds: 1.5 });
    events.writeFailed(new Error('full'));
    events.lineDamaged('torn', 'a');
    events.lineDamaged('corrupt', 'b');
    events.drained(40);
    events.lost(usageEvent('r1'));
    const lines = (await metrics.exposition()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines.sort()).toEqual([
      'gateway_edge_journal_backlog_bytes 900',
      'gateway_edge_journal_backlog_events 7',
      'gateway_edge_journal_damaged_lines_total{damage="corrupt"} 1',
      'gateway_edge_journal_damaged_lines_total{damage="torn"} 1',
      'gateway_edge_journal_drained_events_total 40',
      'gateway_edge_journal_lost_events_total 1',
      'gateway_edge_journal_oldest_event_seconds 1.5',
      'gateway_edge_journal_segments 2',
      'gateway_edge_journal_write_errors_total 1',
    ]);
  });

  it('fill no log with usage that is lost, and say nothing of a torn last line', () => {
    const { events, faults } = setUp();
    for (let n = 0; n < 100; n++) events.lost(usageEvent(`r${n}`));
    events.lineDamaged('torn', 'a');
    expect(faults).toHaveLength(1);
  });
});
