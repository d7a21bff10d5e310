import { expect, it } from 'vitest';
import { readReplica, toReplica } from './replica.ts';

it.each([
  ['in between', 100.05, 0],
  ['ahead', 103.1, 3],
  ['behind', 97, -3],
  ['ahead by less than it took to ask', 100.1, 0],
])(
  'the clock of a replica that is %s has the offset that the duration of the reading does not explain',
  (_, clock, offset) => {
    const metrics = `gateway_clock_timestamp_seconds ${clock}\n`;
    const asked = { fromMs: 100_000, toMs: 100_100 };
    const reading = { service: 'limiter', address: '10.0.0.1:9090', problem: undefined };
    const { figures } = toReplica(readReplica({ ...reading, metrics, asked }, 100_100), undefined);
    expect(figures.clock_offset_seconds).toBeCloseTo(offset, 6);
    // This process is not compared with itself.
    expect(toReplica(readReplica({ ...reading, metrics }, 100_100), undefined).figures).toEqual({});
  },
);
