import { type BenchCase, bodyOf, credentialHeaders, pathOf } from '../bench-cases.ts';
import type { LoadGenerator } from '../load/load-generator.ts';
import type { LoadOrder, LoadReport, LoadTarget } from '../load/load-order.ts';
import type { System } from '../systems/system.ts';
import { eventsOfStream } from '../wire/bench-models.ts';

/**
 * The results of one round of a case for one system. Figures that a case does not have are
 * undefined.
 */
export interface Sample {
  /** Of all gateway processes: per request, or per event of a stream. */
  readonly gatewayMicros: number | undefined;
  /** The same for Redis, NATS and Postgres. */
  readonly backendMicros: number | undefined;
  readonly perSecond: number | undefined;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly firstByteMs: number | undefined;
  readonly kilobytesPerStream: number | undefined;
  /** Microseconds per unit of each process. */
  readonly microsByProcess: Readonly<Record<string, number>>;
  readonly failed: number;
  readonly firstFailure: string | undefined;
}

export interface RoundTimes {
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/**
 * Paced streams last four seconds: only then is the number of open streams stable. Before memory is
 * read, memory of earlier cases must have been released.
 */
const longWarmUps: Partial<Readonly<Record<BenchCase['kind'], number>>> = {
  'paced-stream': 4_500,
  'beside-large': 4_000,
  memory: 8_000,
};

/** One round of a case on one system. */
export async function runCase(
  generator: LoadGenerator,
  system: System,
  benchCase: BenchCase,
  times: RoundTimes,
): Promise<Sample> {
  const isPaced = benchCase.kind === 'paced-stream';
  const report = await generator.run({
    target: targetOf(system, benchCase),
    shape: benchCase.shape,
    beside: besideOf(system, benchCase),
    openStreams: benchCase.openStreams,
    watched: system.processes,
    warmUpMs: longWarmUps[benchCase.kind] ?? times.warmUpMs,
    measureMs: isPaced || benchCase.beside ? Math.max(3_000, times.measureMs) : times.measureMs,
  });
  return benchCase.kind === 'memory' ? memorySample(system, report) : loadSample(system, benchCase, report);
}

function besideOf(system: System, benchCase: BenchCase): LoadOrder['beside'] {
  if (benchCase.beside === undefined) return undefined;
  const { bodyBytes, connections, pauseMs } = benchCase.beside;
  const target = targetOf(system, { ...benchCase, bodyBytes });
  // All large requests are equal: copies with other tokens would only fill the generator's
  // memory.
  return { target: { ...target, headers: target.headers.slice(0, 1) }, connections, pauseMs, areTogether: true };
}

export function targetOf(system: System, benchCase: BenchCase): LoadTarget {
  const ownHeaders = system.headersFor(benchCase);
  return {
    port: system.port,
    path: pathOf(benchCase),
    headers: system.tokens.map((token) => ({ ...credentialHeaders(benchCase, token), ...ownHeaders })),
    body: bodyOf(benchCase),
  };
}

function loadSample(system: System, { kind }: BenchCase, report: LoadReport): Sample {
  const isStream = kind === 'fast-stream' || kind === 'paced-stream';
  const isAtRate = kind === 'rate' || kind === 'beside-large' || kind === 'lone';
  const units = report.answered * (isStream ? eventsOfStream : 1);
  const microsByProcess = divided(report.processorMicros, units);
  return {
    // The cost of large bodies is no cost of the small requests beside them.
    ...(kind === 'beside-large' ? noCost : costOf(system, microsByProcess)),
    perSecond: (units / report.elapsedMs) * 1_000,
    p50Ms: isAtRate ? report.latencyMs.p50 : undefined,
    p99Ms: isAtRate ? report.latencyMs.p99 : undefined,
    firstByteMs: kind === 'paced-stream' ? report.firstByteMs.p50 : undefined,
    kilobytesPerStream: undefined,
    microsByProcess: kind === 'beside-large' ? {} : microsByProcess,
    failed: report.failed,
    firstFailure: report.firstFailure,
  };
}

function memorySample(system: System, report: LoadReport): Sample {
  const growth = system.processes
    .filter(({ part }) => part === 'gateway')
    .map(({ name }) => (report.memoryAfterKilobytes[name] ?? 0) - (report.memoryBeforeKilobytes[name] ?? 0));
  return {
    gatewayMicros: undefined,
    backendMicros: undefined,
    perSecond: undefined,
    p50Ms: undefined,
    p99Ms: undefined,
    firstByteMs: undefined,
    kilobytesPerStream: growth.reduce((sum, each) => sum + each, 0) / report.answered,
    microsByProcess: {},
    failed: report.failed,
    firstFailure: report.firstFailure,
  };
}

const noCost = { gatewayMicros: undefined, backendMicros: undefined };

function costOf({ processes }: System, micros: Readonly<Record<string, number>>) {
  const sumOf = (part: 'gateway' | 'backend') => {
    const own = processes.filter((each) => each.part === part);
    return own.length === 0 ? undefined : own.reduce((sum, { name }) => sum + (micros[name] ?? 0), 0);
  };
  return { gatewayMicros: sumOf('gateway'), backendMicros: sumOf('backend') };
}

function divided(micros: Readonly<Record<string, number>>, units: number): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(micros).map(([name, value]) => [name, value / units]));
}
