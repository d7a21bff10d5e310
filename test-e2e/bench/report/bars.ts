import type { BenchCase } from '../bench-cases.ts';
import type { Row } from './results.ts';

/** A bar: a figure, its highest allowed value, and whether it is met. */
export interface Bar {
  readonly of: keyof typeof units;
  readonly most: number;
  readonly figure: number;
  readonly isMet: boolean;
}

/** The unit after the figure of a bar. */
export const units = {
  timesBareNode: '× bare-node',
  timesPortkey: '× portkey',
  timesNginx: '× nginx',
  kilobytesPerStream: 'KB/stream',
} as const;

/** The bars of a case. Empty if there are none, or nothing was measured. */
export function barsOf(benchCase: BenchCase, row: Omit<Row, 'bars'>): readonly Bar[] {
  return promisesOf(benchCase, row.system).flatMap(([of, most]) => {
    const figure = row[of]?.median;
    return figure === undefined ? [] : [{ of, most, figure, isMet: figure <= most }];
  });
}

type Promised = readonly [of: Bar['of'], most: number];

function promisesOf({ kind, bodyBytes }: BenchCase, system: Row['system']): readonly Promised[] {
  if (system !== 'all-in-one' && system !== 'services') return [];
  const isOneProcess = system === 'all-in-one';
  switch (kind) {
    case 'request':
      if (bodyBytes !== 1_024) return [];
      return [['timesPortkey', isOneProcess ? 0.6 : 1.8]];
    case 'fast-stream':
      return [isOneProcess ? ['timesBareNode', 1.5] : ['timesNginx', 4]];
    case 'memory':
      return isOneProcess ? [['kilobytesPerStream', 60]] : [];
    default:
      return [];
  }
}
