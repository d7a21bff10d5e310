import { benchCases } from '../bench-cases.ts';
import type { LoadGenerator } from '../load/load-generator.ts';
import { startAllInOne } from '../systems/all-in-one.ts';
import { modelOf } from '../wire/bench-models.ts';
import { runCase, targetOf } from './run-case.ts';
import { type Spread, spreadOf } from './spread.ts';

/** The cost of a small relayed request in one process with many tokens, accounts or streams. */
export interface GrowthRow {
  readonly what: 'tokens' | 'accounts' | 'open streams';
  readonly count: number;
  readonly micros: Spread | undefined;
  readonly perSecond: Spread | undefined;
  /** As a multiple of the cost at the smallest count. */
  readonly timesSmallest: number | undefined;
}

/** The most that a request may cost at a large count, as a multiple of the smallest count. */
export const mostGrowth = 1.5;

const sizes: Readonly<Record<GrowthRow['what'], readonly number[]>> = {
  tokens: [1, 100, 10_000],
  accounts: [1, 100, 1_000],
  'open streams': [10, 1_000],
};

export interface GrowthOptions {
  readonly rounds: number;
  readonly settleMs: number;
  readonly measureMs: number;
  /** Runs its argument with new processes on the core of the systems. */
  readonly onSystemCore: <T>(start: () => Promise<T>) => Promise<T>;
  readonly progress: (text: string) => void;
}

/** Starts a gateway for each size, one after the other. */
export async function measureGrowth(
  providerPort: number,
  generator: LoadGenerator,
  options: GrowthOptions,
): Promise<readonly GrowthRow[]> {
  const rows: GrowthRow[] = [];
  for (const what of Object.keys(sizes) as GrowthRow['what'][]) {
    for (const count of sizes[what]) {
      options.progress(`growth, ${count} ${what}`);
      const row = await measureSize(what, count, providerPort, generator, options);
      const smallest = rows.find((each) => each.what === what) ?? row;
      const timesSmallest = (row.micros?.median ?? Number.NaN) / (smallest.micros?.median ?? Number.NaN);
      rows.push({ ...row, timesSmallest });
    }
  }
  return rows;
}

async function measureSize(
  what: GrowthRow['what'],
  count: number,
  providerPort: number,
  generator: LoadGenerator,
  { rounds, settleMs, measureMs, onSystemCore }: GrowthOptions,
): Promise<Omit<GrowthRow, 'timesSmallest'>> {
  const size = { tokens: what === 'tokens' ? count : 16, accounts: what === 'accounts' ? count : 2 };
  await using system = await onSystemCore(() => startAllInOne(providerPort, { inspect: false, workers: '1', ...size }));
  const benchCase = benchCases.find(({ name }) => name === 'messages-1k');
  if (benchCase === undefined) throw new Error('there is no case messages-1k');
  const endless = { ...targetOf(system, benchCase), body: endlessStream };
  const grown = what === 'open streams' ? { ...benchCase, openStreams: { target: endless, count } } : benchCase;
  await runCase(generator, system, grown, { warmUpMs: settleMs, measureMs: 500 });
  const samples = [];
  for (let round = 0; round < rounds; round++) {
    samples.push(await runCase(generator, system, grown, { warmUpMs: 500, measureMs }));
  }
  return {
    what,
    count,
    micros: spreadOf(samples.map(({ gatewayMicros }) => gatewayMicros ?? Number.NaN)),
    perSecond: spreadOf(samples.map(({ perSecond }) => perSecond ?? Number.NaN)),
  };
}

const endlessStream = JSON.stringify({
  model: modelOf('messages', 'slow'),
  stream: true,
  max_tokens: 1_000,
  messages: [{ role: 'user', content: 'Go on.' }],
});
