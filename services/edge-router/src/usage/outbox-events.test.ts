import { Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { usageEvent } from './__fixtures__/test-edge.ts';
import { createOutboxEvents } from './outbox-events.ts';

describe('events of the outbox', () => {
  const setUp = () => {
    const metrics = new Metrics();
    const faults: unknown[] = [];
    return { metrics, faults, events: createOutboxEvents(metrics, (_, fault) => faults.push(fault)) };
  };

  it('are metrics', async () => {
    const { metrics, events } = setUp();
    events.backlog({ events: 7, bytes: 900, oldestSeconds: 1.5 });
    events.writeFailed(new Error('full'));
    events.damaged('a', undefined);
    events.damaged('b', 3);
    events.lost(usageEvent('r1'));
    const lines = (await metrics.exposition()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines.sort()).toEqual([
      'gateway_edge_outbox_backlog_bytes 900',
      'gateway_edge_outbox_backlog_events 7',
      'gateway_edge_outbox_damaged_total 4',
      'gateway_edge_outbox_lost_events_total 1',
      'gateway_edge_outbox_oldest_event_seconds 1.5',
      'gateway_edge_outbox_write_errors_total 1',
    ]);
  });

  it('fill no log with usage that is lost', () => {
    const { events, faults } = setUp();
    for (let n = 0; n < 100; n++) events.lost(usageEvent(`r${n}`));
    expect(faults).toHaveLength(1);
  });
});
