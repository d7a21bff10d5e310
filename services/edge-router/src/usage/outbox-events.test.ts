import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { createOutboxEvents, showOutboxDisk } from './outbox-events.ts';

describe('events of the outbox', () => {
  const setUp = () => {
    const metrics = new Metrics();
    const faults: [part: string, fault: unknown][] = [];
    return { metrics, faults, events: createOutboxEvents(metrics, (...fault) => void faults.push(fault)) };
  };

  it('are metrics', async () => {
    const { metrics, events } = setUp();
    events.backlog({ events: 7, bytes: 900, oldestSeconds: 1.5 });
    events.writeFailed(new Error('full'));
    events.damaged('a', undefined);
    events.damaged('b', 3);
    events.lost();
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

  it('are faults in the log, each with the part that it is of', () => {
    const { events, faults } = setUp();
    const [away, broken, full] = ['away', 'broken', 'full'].map((text) => new Error(text));
    events.deliveryFailed(away);
    events.faulted(broken);
    events.writeFailed(full);
    events.damaged('a.sqlite');
    events.damaged('b.sqlite', 3);
    events.lost();
    expect(faults).toEqual([
      ['delivery', away],
      ['outbox', broken],
      ['outbox', full],
      ['outbox', new Error('a.sqlite cannot be read and was moved aside')],
      ['outbox', new Error('b.sqlite: 3 rows cannot be read')],
      ['outbox', new Error('usage is lost: the outbox cannot be written, and memory is full')],
    ]);
  });

  it('fill no log with usage that is lost: it is said once between two reports of the backlog', () => {
    const { events, faults } = setUp();
    for (let n = 0; n < 100; n++) events.lost();
    expect(faults).toHaveLength(1);
    events.backlog({ events: 0, bytes: 0, oldestSeconds: 0 });
    for (let n = 0; n < 100; n++) events.lost();
    expect(faults).toHaveLength(2);
  });

  it('say how large the disk is and how much of it is free', async () => {
    const metrics = new Metrics();
    showOutboxDisk(metrics, tmpdir());
    const lines = (await metrics.exposition()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const values = new Map(lines.map((line) => line.split(' ') as [string, string]));
    const { bsize, blocks } = statfsSync(tmpdir());
    expect(Number(values.get('gateway_edge_outbox_disk_size_bytes'))).toBe(blocks * bsize);
    const free = Number(values.get('gateway_edge_outbox_disk_free_bytes'));
    expect(free).toBeGreaterThan(0);
    expect(free).toBeLessThanOrEqual(blocks * bsize);
    // A number of bytes, not of blocks.
    expect(free % bsize).toBe(0);
  });
});
