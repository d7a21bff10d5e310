import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { type BenchCase, benchCases, type CaseKind } from './bench-cases.ts';
import { type CountsRow, measureCounts } from './counts/measure-counts.ts';
import type { LoadGenerator } from './load/load-generator.ts';
import { type FairnessRow, measureFairness } from './measure/fairness.ts';
import { measureFirstSeconds, type StartRow } from './measure/first-seconds.ts';
import { type GrowthRow, measureGrowth } from './measure/growth.ts';
import { measureIngest } from './measure/ingest-events.ts';
import { measureLimiter, type ServiceFigures } from './measure/limiter-checks.ts';
import { problemWith } from './measure/probe-systems.ts';
import { runCase, type Sample } from './measure/run-case.ts';
import { measureTracing, type TracingRow } from './measure/tracing-cost.ts';
import { untilSettled } from './measure/until-settled.ts';
import type { BenchOptions } from './options.ts';
import { profileCase } from './profile/profile-case.ts';
import { type CaseSamples, type Results, rowsOf } from './report/results.ts';
import { type Scene, startScene } from './scene.ts';
import type { System, SystemName } from './systems/system.ts';

/**
 * Starts everything, measures or profiles, and stops everything. Undefined after profiling, which
 * writes its own text.
 */
export async function runBench(options: BenchOptions, interrupted: AbortSignal): Promise<Results | undefined> {
  const startedAt = new Date().toISOString();
  await using scene = await startScene(options, interrupted);
  const cases = chosenCases(options);
  if (options.profile) {
    await profileAll(scene, cases, options, interrupted);
    return undefined;
  }
  const measured: CaseSamples[] = [];
  for (const benchCase of cases) measured.push(await measureCase(scene, benchCase, options, interrupted));
  const notes = [...scene.notes];
  const limiter = await measureService('limiter', scene, options, notes, interrupted);
  const ingest = await measureService('ingest', scene, options, notes, interrupted);
  const growth = await measureGrowthOf(scene, options, interrupted);
  const tracing = await measureTracingOf(scene, options, interrupted);
  const counts = await measureCountsOf(scene, options, interrupted);
  const fairness = await measureFairnessOf(scene, options, interrupted);
  const start = await measureStartOf(scene, options, interrupted);
  return {
    startedAt,
    remark: options.remark,
    machine: `${cpus().length} × ${cpus()[0]?.model.trim()}`,
    node: process.versions.node,
    isPinned: scene.isPinned,
    options: { ...options },
    notes,
    rows: measured.flatMap(rowsOf),
    limiter,
    ingest,
    growth,
    tracing,
    counts,
    fairness,
    start,
  };
}

function chosenCases({ quick, cases }: BenchOptions): readonly BenchCase[] {
  return benchCases.filter(
    ({ name, isQuick }) => (isQuick || !quick) && (cases.length === 0 || cases.some((text) => name.includes(text))),
  );
}

/**
 * Rounds in which every system has its turn. The order rotates, so that no system is always first.
 */
async function measureCase(
  { systems, generator }: Scene,
  benchCase: BenchCase,
  options: BenchOptions,
  interrupted: AbortSignal,
): Promise<CaseSamples> {
  const problems = new Map<SystemName, string>();
  const able: System[] = [];
  for (const system of systems.filter((each) => each.serves(benchCase))) {
    const problem = await problemWith(system, benchCase).catch(String);
    if (problem === undefined) able.push(system);
    else problems.set(system.name, problem);
  }
  for (const system of able) await settle(system, benchCase, generator, options, interrupted);
  const samples = new Map<SystemName, Sample[]>(able.map(({ name }) => [name, []]));
  for (let round = 0; round < options.rounds; round++) {
    const order = [...able.slice(round % able.length), ...able.slice(0, round % able.length)];
    for (const system of order) {
      interrupted.throwIfAborted();
      progress(`${benchCase.name}, round ${round + 1} of ${options.rounds}, ${system.name}`);
      samples
        .get(system.name)
        ?.push(await unlessInterrupted(interrupted, runCase(generator, system, benchCase, options)));
    }
  }
  return { benchCase, samples, problems };
}

/** Runs a system until the compiler has optimised it for a case. */
async function settle(
  system: System,
  benchCase: BenchCase,
  generator: LoadGenerator,
  { settleMs, mostSettlingTurns }: BenchOptions,
  interrupted: AbortSignal,
): Promise<void> {
  const isCompiled = system.name !== 'direct' && system.name !== 'nginx';
  if (!isCompiled || !settlingKinds.includes(benchCase.kind)) return;
  const times = { warmUpMs: settleMs / 2, measureMs: settleMs / 2 };
  const load = benchCase.kind === 'lone' ? { ...benchCase, shape: settlingShape } : benchCase;
  await untilSettled(async () => {
    progress(`${benchCase.name}, ${system.name} settles`);
    return (await unlessInterrupted(interrupted, runCase(generator, system, load, times))).gatewayMicros;
  }, mostSettlingTurns);
}

/** Other cases have too little work for the compiler to optimise it. */
const settlingKinds: readonly CaseKind[] = ['request', 'fast-stream', 'paced-stream', 'lone'];
/** The load under which the code of a lone request is compiled. */
const settlingShape = { kind: 'closed', connections: 32 } as const;

async function measureService(
  name: 'limiter' | 'ingest',
  { services }: Scene,
  options: BenchOptions,
  notes: string[],
  interrupted: AbortSignal,
): Promise<ServiceFigures | undefined> {
  const isChosen = options.cases.length === 0 || options.cases.some((text) => name.includes(text));
  if (services === undefined || !isChosen) return undefined;
  interrupted.throwIfAborted();
  progress(name);
  try {
    const measuring = name === 'limiter' ? measureLimiter(services, options.measureMs) : measureIngest(services);
    return await unlessInterrupted(interrupted, measuring);
  } catch (thrown) {
    interrupted.throwIfAborted();
    notes.push(`${name} was not measured: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    return undefined;
  }
}

async function measureGrowthOf(
  { providerPort, generator, onSystemCore }: Scene,
  options: BenchOptions,
  interrupted: AbortSignal,
): Promise<readonly GrowthRow[]> {
  const isChosen = options.cases.length === 0 ? !options.quick : options.cases.some((text) => 'growth'.includes(text));
  if (!isChosen || !options.systems.includes('all-in-one')) return [];
  const measuring = measureGrowth(providerPort, generator, { ...options, onSystemCore, progress });
  return await unlessInterrupted(interrupted, measuring);
}

async function measureTracingOf(
  { providerPort, generator, onSystemCore }: Scene,
  options: BenchOptions,
  interrupted: AbortSignal,
): Promise<readonly TracingRow[]> {
  const isChosen = options.cases.length === 0 ? !options.quick : options.cases.some((text) => 'tracing'.includes(text));
  if (!isChosen || !options.systems.includes('all-in-one')) return [];
  const measuring = measureTracing(providerPort, generator, { ...options, onSystemCore, progress });
  return await unlessInterrupted(interrupted, measuring);
}

async function measureCountsOf(
  { providerPort }: Scene,
  options: BenchOptions,
  interrupted: AbortSignal,
): Promise<readonly CountsRow[]> {
  const isChosen = options.cases.length === 0 || options.cases.some((text) => 'counts'.includes(text));
  if (!isChosen || !options.systems.includes('all-in-one')) return [];
  interrupted.throwIfAborted();
  progress('counts');
  return await unlessInterrupted(interrupted, measureCounts(providerPort));
}

async function measureFairnessOf(
  { providerPort, generator, onSystemCore }: Scene,
  options: BenchOptions,
  interrupted: AbortSignal,
): Promise<readonly FairnessRow[]> {
  if (!isChosenBeside('fairness', options)) return [];
  const measuring = measureFairness(providerPort, generator, { ...options, onSystemCore, progress });
  return await unlessInterrupted(interrupted, measuring);
}

async function measureStartOf(
  { providerPort, generator, onSystemCore }: Scene,
  options: BenchOptions,
  interrupted: AbortSignal,
): Promise<readonly StartRow[]> {
  if (!isChosenBeside('start', options) || !options.systems.includes('all-in-one')) return [];
  const measuring = measureFirstSeconds(providerPort, generator, { ...options, onSystemCore, progress });
  return await unlessInterrupted(interrupted, measuring);
}

/** Measurements that are not a case of every system, and take long. */
function isChosenBeside(name: string, { cases, quick }: BenchOptions): boolean {
  return cases.length === 0 ? !quick : cases.some((text) => name.includes(text));
}

async function profileAll(
  { systems, generator }: { readonly systems: readonly System[]; readonly generator: LoadGenerator },
  cases: readonly BenchCase[],
  { outputFolder }: BenchOptions,
  interrupted: AbortSignal,
): Promise<void> {
  const texts: string[] = [];
  for (const benchCase of cases.filter(({ kind }) => kind !== 'memory')) {
    for (const system of systems.filter(({ inspectorPorts }) => inspectorPorts.size > 0)) {
      interrupted.throwIfAborted();
      progress(`profiling ${benchCase.name}, ${system.name}`);
      const text = await unlessInterrupted(interrupted, profileCase(generator, system, benchCase, outputFolder));
      texts.push(text);
      process.stdout.write(`${text}\n`);
    }
  }
  await writeFile(join(outputFolder, 'profiles.txt'), texts.join('\n'));
}

/** The value. If the bench stops, its producer is stopped too. */
async function unlessInterrupted<T>(interrupted: AbortSignal, value: Promise<T>): Promise<T> {
  interrupted.throwIfAborted();
  const stop = Promise.withResolvers<never>();
  const onAbort = () => stop.reject(interrupted.reason);
  interrupted.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([value, stop.promise]);
  } finally {
    value.catch(() => undefined);
    interrupted.removeEventListener('abort', onAbort);
  }
}

function progress(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}
