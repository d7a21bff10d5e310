import type { BenchCase } from '../bench-cases.ts';
import type { Row } from './results.ts';

/** A bar: all-in-one, services. */
type Bar = readonly [allInOne: number, services: number];

const kibibyte = 1_024;

/** What the product is held to in a case; undefined where nothing is promised, or nothing was measured. */
export function barOf(benchCase: BenchCase, row: Ungraded): Row['bar'] {
  const promise = promises[benchCase.kind](benchCase);
  return promise === undefined ? undefined : judged(promise, row);
}

/** What the product is held to beside the peer, which does nothing but translate or relay. */
export function peerBarOf(benchCase: BenchCase, row: Ungraded): Row['bar'] {
  if (benchCase.kind !== 'request' || benchCase.bodyBytes !== kibibyte) return undefined;
  return judged({ of: 'timesPortkey', bar: [0.25, 0.5] }, row);
}

type Ungraded = Omit<Row, 'bar' | 'peerBar'>;

function judged(promise: Promised, row: Ungraded): Row['bar'] {
  const figure = row[promise.of]?.median;
  if (figure === undefined || (row.system !== 'all-in-one' && row.system !== 'services')) return undefined;
  const most = promise.bar[row.system === 'all-in-one' ? 0 : 1];
  return { most, figure, isMet: figure <= most };
}

interface Promised {
  readonly of: 'timesNginx' | 'timesPortkey' | 'addedP50Ms' | 'addedP99Ms' | 'kilobytesPerStream';
  readonly bar: Bar;
}

const promises: Readonly<Record<BenchCase['kind'], (benchCase: BenchCase) => Promised | undefined>> = {
  request: ({ bodyBytes, endpoint }) => {
    if (bodyBytes !== kibibyte) return undefined;
    return { of: 'timesNginx', bar: endpoint === 'chat' ? [4, 10] : [3, 8] };
  },
  'fast-stream': ({ endpoint }) => ({ of: 'timesNginx', bar: endpoint === 'chat' ? [1.5, 2] : [1.15, 1.5] }),
  'paced-stream': () => ({ of: 'timesNginx', bar: [2, 3.5] }),
  rate: () => ({ of: 'addedP50Ms', bar: [0.3, 0.7] }),
  'beside-large': () => ({ of: 'addedP99Ms', bar: [50, 50] }),
  memory: () => ({ of: 'kilobytesPerStream', bar: [60, 120] }),
};
