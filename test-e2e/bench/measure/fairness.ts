import { createTokenText } from '@gateway/tokens';
import { type BenchCase, bodyOf, credentialHeaders, pathOf } from '../bench-cases.ts';
import type { LoadGenerator } from '../load/load-generator.ts';
import type { LoadOrder, LoadReport, OtherLoad } from '../load/load-order.ts';
import type { BenchOptions } from '../options.ts';
import { startAllInOne } from '../systems/all-in-one.ts';
import { startServicesSystem } from '../systems/services.ts';
import type { System } from '../systems/system.ts';
import type { GrowthOptions } from './growth.ts';
import { runCase, targetOf } from './run-case.ts';
import { type Spread, spreadOf } from './spread.ts';

/**
 * How long a quiet token waits for its first token while another token asks for more than there is.
 */
export interface FairnessRow {
  readonly system: 'all-in-one' | 'services';
  readonly beside: 'a greedy token' | 'a greedy token in bursts' | 'made-up tokens in bursts';
  readonly p50: Comparison;
  readonly p99: Comparison;
  /** The share of the quiet token's requests that was refused beside the others. */
  readonly refused: number;
  readonly failed: number;
  readonly firstFailure: string | undefined;
}

export interface Comparison {
  readonly alone: Spread | undefined;
  readonly besideOthers: Spread | undefined;
  /** As a multiple of the time alone, in the same round. */
  readonly times: Spread | undefined;
}

/** A quiet token's first token may take this many times as long beside others. */
export const mostTimesAlone = 1.2;

export interface FairnessOptions extends GrowthOptions, Pick<BenchOptions, 'systems'> {}

/**
 * The slots of an account. The pool's two accounts have twice as many, and ten times as many
 * clients compete for them.
 */
const maxConcurrency = 20;
const greedyClients = 10 * 2 * maxConcurrency;
/** As in `retry-after`. */
const pauseMs = 1_000;
/** Few enough that only other clients make them wait. */
const quietPerSecond = 25;
/** Enough for the slowest hundredth to be several requests. */
const leastMeasuredMs = 12_000;
const madeUpClients = 300;
/** More tokens than are sent until the first one may be looked up again. */
const madeUpTokens = 10_000;

/**
 * Starts a gateway of each kind, whose pools have few slots, and runs a quiet token alone and
 * beside others in turns.
 */
export async function measureFairness(
  providerPort: number,
  generator: LoadGenerator,
  options: FairnessOptions,
): Promise<readonly FairnessRow[]> {
  const starts = {
    'all-in-one': () => startAllInOne(providerPort, { inspect: false, workers: '1', maxConcurrency }),
    services: () => startServicesSystem(providerPort, { inspect: false, maxConcurrency }),
  };
  const rows: FairnessRow[] = [];
  for (const name of ['all-in-one', 'services'] as const) {
    if (!options.systems.includes(name)) continue;
    options.progress(`fairness, starting ${name}`);
    await using system = await options.onSystemCore<System>(starts[name]);
    await runCase(generator, system, quiet, { warmUpMs: options.settleMs, measureMs: options.settleMs });
    for (const [beside, load] of Object.entries(othersOf(system))) {
      // The names are those of the object.
      rows.push(await measureBeside(name, beside as FairnessRow['beside'], load));
    }
  }
  return rows;

  async function measureBeside(
    system: FairnessRow['system'],
    beside: FairnessRow['beside'],
    { others, order }: Beside,
  ): Promise<FairnessRow> {
    const pairs: { readonly alone: LoadReport; readonly besideOthers: LoadReport }[] = [];
    for (let round = 0; round < options.rounds; round++) {
      options.progress(`fairness, ${system} beside ${beside}, round ${round + 1} of ${options.rounds}`);
      const measured = { ...order, measureMs: Math.max(leastMeasuredMs, options.measureMs) };
      const alone = await generator.run(measured);
      pairs.push({ alone, besideOthers: await generator.run({ ...measured, beside: others }) });
    }
    const compared = (of: 'p50' | 'p99'): Comparison => ({
      alone: spreadOf(pairs.map(({ alone }) => alone.firstByteMs[of])),
      besideOthers: spreadOf(pairs.map(({ besideOthers }) => besideOthers.firstByteMs[of])),
      times: spreadOf(pairs.map(({ alone, besideOthers }) => besideOthers.firstByteMs[of] / alone.firstByteMs[of])),
    });
    const sent = pairs.reduce((sum, { besideOthers: { answered, failed } }) => sum + answered + failed, 0);
    const reports = pairs.flatMap(({ alone, besideOthers }) => [alone, besideOthers]);
    return {
      system,
      beside,
      p50: compared('p50'),
      p99: compared('p99'),
      refused: pairs.reduce((sum, { besideOthers }) => sum + besideOthers.failed, 0) / sent,
      failed: reports.reduce((sum, { failed }) => sum + failed, 0),
      firstFailure: reports.find(({ firstFailure }) => firstFailure !== undefined)?.firstFailure,
    };
  }
}

interface Beside {
  /** The quiet token's requests. */
  readonly order: LoadOrder;
  readonly others: OtherLoad;
}

function othersOf(system: System): Readonly<Record<FairnessRow['beside'], Beside>> {
  const [quietToken = {}, greedyToken = {}] = targetOf(system, quiet).headers;
  const order: LoadOrder = {
    target: { ...targetOf(system, quiet), headers: [quietToken] },
    shape: quiet.shape,
    watched: system.processes,
    // Until all slots are taken, and some refused clients have come again.
    warmUpMs: 2 * pauseMs,
    measureMs: leastMeasuredMs,
  };
  const greedyTarget = { ...targetOf(system, greedy), headers: [greedyToken], accepted: ['200', '429'] };
  const madeUpTarget = {
    port: system.port,
    path: pathOf(quiet),
    body: bodyOf(quiet),
    headers: Array.from({ length: madeUpTokens }, () => credentialHeaders(quiet, createTokenText('personal'))),
    accepted: ['401'],
  };
  const greedyOnes = { target: greedyTarget, connections: greedyClients, pauseMs };
  const madeUpOnes = { target: madeUpTarget, connections: madeUpClients, pauseMs };
  return {
    'a greedy token': { order, others: greedyOnes },
    'a greedy token in bursts': { order, others: { ...greedyOnes, areTogether: true } },
    'made-up tokens in bursts': { order, others: { ...madeUpOnes, areTogether: true } },
  };
}

const relayed = { endpoint: 'messages', format: 'messages', bodyBytes: 1_024, isQuick: false } as const;

/** A stream that ends at once, so that it has a slot only briefly. */
const quiet: BenchCase = {
  ...relayed,
  name: 'fairness, quiet',
  kind: 'fast-stream',
  pace: 'short',
  shape: { kind: 'open', perSecond: quietPerSecond },
};

/** Streams that keep their slots for seconds. */
const greedy: BenchCase = { ...quiet, name: 'fairness, greedy', pace: 'paced' };
