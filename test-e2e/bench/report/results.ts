import type { BenchCase } from '../bench-cases.ts';
import type { CountsRow } from '../counts/measure-counts.ts';
import type { FairnessRow } from '../measure/fairness.ts';
import type { StartRow } from '../measure/first-seconds.ts';
import type { GrowthRow } from '../measure/growth.ts';
import type { ServiceFigures } from '../measure/limiter-checks.ts';
import type { Sample } from '../measure/run-case.ts';
import { type Spread, spreadOf } from '../measure/spread.ts';
import type { TracingRow } from '../measure/tracing-cost.ts';
import type { SystemName } from '../systems/system.ts';
import { type Bar, barsOf } from './bars.ts';

/** The samples of one case: by system, one per round, in the order of the rounds. */
export interface CaseSamples {
  readonly benchCase: BenchCase;
  readonly samples: ReadonlyMap<SystemName, readonly Sample[]>;
  /** Why a system was not measured. */
  readonly problems: ReadonlyMap<SystemName, string>;
}

/** The results of a case for one system, over all rounds. */
export interface Row {
  readonly case: string;
  readonly kind: BenchCase['kind'];
  readonly system: SystemName;
  readonly rounds: number;
  readonly gatewayMicros: Spread | undefined;
  readonly backendMicros: Spread | undefined;
  /** As a multiple of nginx's cost, of the same round. */
  readonly timesNginx: Spread | undefined;
  /** As a multiple of the cost of the bare hop of Node, of the same round. */
  readonly timesBareNode: Spread | undefined;
  /** As a multiple of the peer's cost, of the same round. */
  readonly timesPortkey: Spread | undefined;
  readonly perSecond: Spread | undefined;
  /** In addition to the direct latency between generator and providers, of the same round. */
  readonly addedP50Ms: Spread | undefined;
  readonly addedP99Ms: Spread | undefined;
  readonly addedFirstByteMs: Spread | undefined;
  readonly kilobytesPerStream: Spread | undefined;
  readonly microsByProcess: Readonly<Record<string, number>>;
  readonly failed: number;
  readonly problem: string | undefined;
  readonly bars: readonly Bar[];
}

export interface Results {
  readonly startedAt: string;
  readonly remark: string | undefined;
  readonly machine: string;
  readonly node: string;
  readonly isPinned: boolean;
  readonly options: Readonly<Record<string, unknown>>;
  /** Measurements that were not possible, and why. */
  readonly notes: readonly string[];
  readonly rows: readonly Row[];
  readonly limiter: ServiceFigures | undefined;
  readonly ingest: ServiceFigures | undefined;
  readonly growth: readonly GrowthRow[];
  readonly tracing: readonly TracingRow[];
  readonly counts: readonly CountsRow[];
  readonly fairness: readonly FairnessRow[];
  readonly start: readonly StartRow[];
}

/** The rows of one case, in the order of its systems. */
export function rowsOf({ benchCase, samples, problems }: CaseSamples): readonly Row[] {
  const measured = [...samples].map(([system, own]) => rowOf(benchCase, system, own, samples));
  const unmeasured = [...problems].map(([system, problem]) => ({ ...rowOf(benchCase, system, [], samples), problem }));
  return [...measured, ...unmeasured];
}

function rowOf(benchCase: BenchCase, system: SystemName, own: readonly Sample[], samples: CaseSamples['samples']): Row {
  const spread = (figure: Figure) => spreadOf(own.map((sample) => figure(sample) ?? Number.NaN));
  const against = (other: SystemName, figure: Figure, compare: (mine: number, its: number) => number) => {
    const theirs = samples.get(other);
    if (theirs === undefined || other === system) return undefined;
    return spreadOf(own.map((sample, round) => compare(numberOf(figure, sample), numberOf(figure, theirs[round]))));
  };
  const ratio = (mine: number, its: number) => mine / its;
  const difference = (mine: number, its: number) => mine - its;
  const cost: Figure = ({ gatewayMicros }) => gatewayMicros;
  const row = {
    case: benchCase.name,
    kind: benchCase.kind,
    system,
    rounds: own.length,
    gatewayMicros: spread(cost),
    backendMicros: spread(({ backendMicros }) => backendMicros),
    timesNginx: against('nginx', cost, ratio),
    timesBareNode: against('bare-node', cost, ratio),
    timesPortkey: against('portkey', cost, ratio),
    perSecond: spread(({ perSecond }) => perSecond),
    addedP50Ms: against('direct', ({ p50Ms }) => p50Ms, difference),
    addedP99Ms: against('direct', ({ p99Ms }) => p99Ms, difference),
    addedFirstByteMs: against('direct', ({ firstByteMs }) => firstByteMs, difference),
    kilobytesPerStream: spread(({ kilobytesPerStream }) => kilobytesPerStream),
    microsByProcess: medianByProcess(own),
    failed: own.reduce((sum, { failed }) => sum + failed, 0),
    problem: own.find(({ firstFailure }) => firstFailure !== undefined)?.firstFailure,
  };
  return { ...row, bars: barsOf(benchCase, row) };
}

type Figure = (sample: Sample) => number | undefined;

function numberOf(figure: Figure, sample: Sample | undefined): number {
  return (sample === undefined ? undefined : figure(sample)) ?? Number.NaN;
}

function medianByProcess(samples: readonly Sample[]): Readonly<Record<string, number>> {
  const names = Object.keys(samples[0]?.microsByProcess ?? {});
  return Object.fromEntries(
    names.map((name) => [
      name,
      spreadOf(samples.map(({ microsByProcess }) => microsByProcess[name] ?? 0))?.median ?? 0,
    ]),
  );
}
