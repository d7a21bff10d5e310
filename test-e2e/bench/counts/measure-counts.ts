import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type BenchCase, benchCases } from '../bench-cases.ts';
import { targetOf } from '../measure/run-case.ts';
import { Session } from '../profile/inspector.ts';
import { type AllInOneSystem, startAllInOne } from '../systems/all-in-one.ts';
import { type Count, countNames } from './counted.ts';

/** The work of one request, in one process with one request at a time. */
export interface CountsRow {
  readonly case: string;
  readonly counts: Readonly<Record<Count, number>>;
}

const caseNames = ['messages-1k', 'chat-to-messages-1k'] as const;
/** Requests before the measurement, so that one-time work is done. */
const warmUpRequests = 100;
const rounds = 5;
const requestsPerRound = 60;
const idleMs = 2_000;

/**
 * Counts the work of a gateway for each small request: a regression shows here on any machine, even
 * a busy one.
 */
export async function measureCounts(providerPort: number): Promise<readonly CountsRow[]> {
  const program = pathToFileURL(join(import.meta.dirname, 'count-work.ts'));
  const env = { NODE_OPTIONS: `--import ${program}` };
  await using system = await startAllInOne(providerPort, { inspect: true, workers: '1', env });
  const session = await Session.open(system.inspectorPorts.get('all-in-one') ?? 0);
  try {
    await session.call('Profiler.enable');
    await session.call('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    const rows: CountsRow[] = [];
    for (const name of caseNames) rows.push(await countCase(system, session, name));
    return rows;
  } finally {
    session.close();
  }
}

async function countCase(system: AllInOneSystem, session: Session, name: string): Promise<CountsRow> {
  const benchCase = benchCases.find((each) => each.name === name);
  if (benchCase === undefined) throw new Error(`There is no case ${name}.`);
  await ask(system, benchCase, warmUpRequests);
  await takeAll(session);
  const idlePerMs = await countIdle(session);
  const taken: Readonly<Record<Count, number>>[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedMs = performance.now();
    await ask(system, benchCase, requestsPerRound);
    const all = await takeAll(session);
    const roundMs = performance.now() - startedMs;
    taken.push(recordOf((count) => Math.max(0, (all[count] ?? 0) - idlePerMs[count] * roundMs)));
  }
  const counts = recordOf((count) => Math.min(...taken.map((round) => round[count])) / requestsPerRound);
  return { case: name, counts };
}

/**
 * The periodic work of a gateway without requests, which is no part of a request. On a slow machine
 * more of it falls into a round.
 */
async function countIdle(session: Session): Promise<Readonly<Record<Count, number>>> {
  await takeAll(session);
  const startedMs = performance.now();
  await sleep(idleMs);
  const all = await takeAll(session);
  const passedMs = performance.now() - startedMs;
  return recordOf((count) => (all[count] ?? 0) / passedMs);
}

function recordOf(countOf: (count: Count) => number): Readonly<Record<Count, number>> {
  // Every count has its name in the list.
  return Object.fromEntries(countNames.map((count) => [count, countOf(count)])) as Record<Count, number>;
}

async function ask(system: AllInOneSystem, benchCase: BenchCase, requests: number): Promise<void> {
  const { port, path, headers, body } = targetOf(system, benchCase);
  for (let request = 0; request < requests; request++) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers[request % headers.length] },
      body,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`The gateway answered ${response.status}: ${text}`);
  }
}

/** The counts since the last call. */
async function takeAll(session: Session): Promise<Readonly<Record<string, number>>> {
  const evaluation = { expression: 'workCounts.take()', returnByValue: true };
  // The shapes are V8's, part of the debugger's protocol.
  const own = (await session.call('Runtime.evaluate', evaluation)) as {
    readonly result: { readonly value: Readonly<Record<string, number>> };
  };
  const { result } = (await session.call('Profiler.takePreciseCoverage')) as Coverage;
  return { ...own.result.value, ...callsOf(result) };
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** Calls of functions that are counted by their names in a library. */
function callsOf(scripts: Coverage['result']): Readonly<Record<string, number>> {
  const calls: Record<string, number> = {};
  for (const { url, functions } of scripts) {
    for (const { functionName, ranges } of functions) {
      const found = countedFunctions.find(({ file, name }) => name === functionName && url.endsWith(file));
      if (found !== undefined) calls[found.count] = (calls[found.count] ?? 0) + (ranges[0]?.count ?? 0);
    }
  }
  return calls;
}

const countedFunctions = [
  { file: '/@bufbuild/protobuf/dist/esm/create.js', name: 'create', count: 'messagesMade' },
  { file: '/@bufbuild/protobuf/dist/esm/to-binary.js', name: 'toBinary', count: 'messagesEncoded' },
  { file: '/prom-client/lib/histogram.js', name: 'observe', count: 'histogramObservations' },
  { file: '/prom-client/lib/counter.js', name: 'inc', count: 'counterIncrements' },
  { file: '/edge-router/src/usage/outbox-file.ts', name: 'apply', count: 'outboxWrites' },
] as const;
