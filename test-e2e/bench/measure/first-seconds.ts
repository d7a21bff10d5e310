import { type BenchCase, benchCases, ratePerSecond } from '../bench-cases.ts';
import type { LoadGenerator } from '../load/load-generator.ts';
import type { LoadReport } from '../load/load-order.ts';
import { startAllInOne } from '../systems/all-in-one.ts';
import type { GrowthOptions } from './growth.ts';
import { targetOf } from './run-case.ts';
import { type Spread, spreadOf } from './spread.ts';

/** The latency of requests that come as soon as a gateway is ready. */
export interface StartRow {
  readonly system: 'all-in-one';
  readonly perSecond: number;
  /** Latency of the requests that were sent in each second. */
  readonly seconds: readonly { readonly p50: Spread | undefined; readonly p99: Spread | undefined }[];
  readonly failed: number;
  readonly firstFailure: string | undefined;
}

const measuredSeconds = 4;
/** Time for answers to requests of the last second. */
const afterwardsMs = 1_000;

/** Starts a gateway for each round. */
export async function measureFirstSeconds(
  providerPort: number,
  generator: LoadGenerator,
  { rounds, onSystemCore, progress }: GrowthOptions,
): Promise<readonly StartRow[]> {
  const reports: LoadReport[] = [];
  for (let round = 0; round < rounds; round++) {
    progress(`first seconds after a start, round ${round + 1} of ${rounds}`);
    await using system = await onSystemCore(() => startAllInOne(providerPort, { inspect: false, workers: '1' }));
    const order = { target: targetOf(system, smallRequest()), watched: system.processes, warmUpMs: 0 };
    const shape = { kind: 'open', perSecond: ratePerSecond } as const;
    reports.push(await generator.run({ ...order, shape, measureMs: measuredSeconds * 1_000 + afterwardsMs }));
  }
  const seconds = Array.from({ length: measuredSeconds }, (_, second) => ({
    p50: spreadOf(reports.map(({ latencyMsBySecond }) => latencyMsBySecond[second]?.p50 ?? Number.NaN)),
    p99: spreadOf(reports.map(({ latencyMsBySecond }) => latencyMsBySecond[second]?.p99 ?? Number.NaN)),
  }));
  return [
    {
      system: 'all-in-one',
      perSecond: ratePerSecond,
      seconds,
      failed: reports.reduce((sum, { failed }) => sum + failed, 0),
      firstFailure: reports.find(({ firstFailure }) => firstFailure !== undefined)?.firstFailure,
    },
  ];
}

function smallRequest(): BenchCase {
  const found = benchCases.find(({ name }) => name === 'messages-1k');
  if (found === undefined) throw new Error('there is no case messages-1k');
  return found;
}
