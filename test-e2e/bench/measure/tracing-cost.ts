import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inSpan, SpanKind } from '@gateway/telemetry';
import { familiesOf, readExposition } from '../../observability/exposition.ts';
import { benchCases } from '../bench-cases.ts';
import type { LoadGenerator } from '../load/load-generator.ts';
import { type AllInOneSystem, startAllInOne } from '../systems/all-in-one.ts';
import type { GrowthOptions } from './growth.ts';
import { runCase, type Sample } from './run-case.ts';
import { type Spread, spreadOf } from './spread.ts';
import { untilSettled } from './until-settled.ts';

/** The additional cost of traces for a relayed request in one process. */
export interface TracingRow {
  readonly case: string;
  readonly what: 'no endpoint' | 'ratio 0' | 'ratio 1';
  readonly micros: Spread | undefined;
  /**
   * The added share of a request's cost, from the least of all turns: other load of the machine can
   * only add to it.
   */
  readonly added: number;
  /** The same from pairs of the same turn. */
  readonly addedInTurns: Spread | undefined;
  /** The bar. */
  readonly most: number;
  readonly note: string;
}

type Mode = TracingRow['what'];

/** The smallest request, which has the same spans as every other, and a stream of 200 events. */
const caseNames = ['messages-1k', 'messages-stream'] as const;

const modes: readonly Mode[] = ['no endpoint', 'ratio 0', 'ratio 1'];

/** As a share of the cost of a request without an endpoint. */
const mostAdded: Readonly<Record<Mode, number>> = { 'no endpoint': 0.01, 'ratio 0': 0.03, 'ratio 1': 0.12 };

/**
 * Gateways that differ only in their traces take turns in short rounds: figures drift by more
 * within a minute than the few percent of difference. No gateway is without the calls of
 * OpenTelemetry's API. So the cost of these calls without an endpoint is measured separately, and
 * multiplied by the spans of a request.
 */
export async function measureTracing(
  providerPort: number,
  generator: LoadGenerator,
  { rounds, settleMs, measureMs, onSystemCore, progress }: GrowthOptions,
): Promise<readonly TracingRow[]> {
  await using stack = new AsyncDisposableStack();
  const collector = stack.use(await startCollector());
  const systems = new Map<Mode, AllInOneSystem>();
  for (const mode of modes) {
    progress(`tracing, starting ${mode}`);
    const env = settingsOf(mode, collector.url);
    const start = () => startAllInOne(providerPort, { inspect: false, workers: '1', env });
    systems.set(mode, stack.use(await onSystemCore(start)));
  }
  const rows: TracingRow[] = [];
  for (const name of caseNames) {
    const samples = await sampleInTurns(name);
    const spans = await spansOf(systems.get('ratio 1'));
    rows.push(...rowsOf(name, samples, { ...spans, call: await noOpMicros() }));
  }
  return rows;

  async function sampleInTurns(name: string): Promise<Samples> {
    const benchCase = benchCases.find((each) => each.name === name);
    if (benchCase === undefined) throw new Error(`there is no case ${name}`);
    for (const [mode, system] of systems) {
      const times = { warmUpMs: settleMs / 2, measureMs: settleMs / 2 };
      await untilSettled(async () => {
        progress(`tracing, ${name}, ${mode} settles`);
        return microsOf(await runCase(generator, system, benchCase, times));
      }, 6);
    }
    const samples = new Map<Mode, number[]>(modes.map((mode) => [mode, []]));
    for (let round = 0; round < rounds * turnsInRound; round++) {
      progress(`tracing, ${name}, turn ${round + 1} of ${rounds * turnsInRound}`);
      for (const mode of [...modes.slice(round % 3), ...modes.slice(0, round % 3)]) {
        const system = systems.get(mode);
        if (system === undefined) continue;
        samples.get(mode)?.push(microsOf(await runCase(generator, system, benchCase, { warmUpMs: 300, measureMs })));
      }
    }
    return samples;
  }
}

function microsOf({ gatewayMicros = Number.NaN }: Sample): number {
  return gatewayMicros;
}

/**
 * Processor time of a request, or of an event of a stream, in microseconds: for each turn, by mode.
 */
type Samples = ReadonlyMap<Mode, readonly number[]>;

type Spans = Awaited<ReturnType<typeof spansOf>> & { readonly call: number };

/**
 * The cost of unused spans is shown only for the smallest request: for larger ones the share is
 * smaller.
 */
function rowsOf(name: string, samples: Samples, spans: Spans): readonly TracingRow[] {
  const base = samples.get('no endpoint') ?? [];
  const leastBase = Math.min(...base);
  const shown = name === caseNames[0] ? modes : modes.filter((mode) => mode !== 'no endpoint');
  return shown.map((what) => {
    const own = samples.get(what) ?? [];
    const isBase = what === 'no endpoint';
    return {
      case: name,
      what,
      micros: spreadOf(own),
      added: isBase ? (spans.call * spans.perRequest) / leastBase : Math.min(...own) / leastBase - 1,
      addedInTurns: isBase ? undefined : spreadOf(own.map((micros, turn) => micros / (base[turn] ?? Number.NaN) - 1)),
      most: mostAdded[what],
      note: noteOf[what](spans),
    };
  });
}

const noteOf: Readonly<Record<Mode, (spans: Spans) => string>> = {
  'no endpoint': ({ perRequest, call }) => `${perRequest.toFixed(1)} spans a request, ${call.toFixed(2)} µs each`,
  'ratio 0': () => '',
  'ratio 1': ({ droppedShare }) => `${(droppedShare * 100).toFixed(1)} % of the spans were dropped`,
};

/** Other measurements have few and long rounds. */
const turnsInRound = 4;

function settingsOf(mode: Mode, url: string): Readonly<Record<string, string>> {
  if (mode === 'no endpoint') return {};
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: mode === 'ratio 0' ? '0' : '1',
    // A dropped span costs less than one that is sent.
    OTEL_BSP_MAX_QUEUE_SIZE: '65536',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  };
}

/** Accepts spans without reading them. It runs on the core of the load. */
async function startCollector() {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

async function spansOf(system: AllInOneSystem | undefined) {
  const families = familiesOf(await readExposition(system?.adminUrl ?? ''));
  const sumOf = (name: string, series = name) =>
    (families.get(name)?.series ?? [])
      .filter((each) => each.name === series)
      .reduce((sum, { value }) => sum + value, 0);
  const requests = sumOf('http_server_request_duration_seconds', 'http_server_request_duration_seconds_count');
  const dropped = sumOf('gateway_trace_spans_dropped_total');
  const all = sumOf('gateway_trace_spans_exported_total') + dropped;
  return { perRequest: all / requests, droppedShare: dropped / all };
}

/** Processor time of a span that is not exported, as the gateway makes them. */
async function noOpMicros(): Promise<number> {
  const settings = { kind: SpanKind.CLIENT, attributes: { 'gateway.pool': 'p', 'gateway.account': 'a' } };
  const work = () => Promise.resolve();
  const times = 200_000;
  const costOf = async (call: () => Promise<void>) => {
    const before = process.cpuUsage();
    for (let n = 0; n < times; n++) await call();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / times;
  };
  const differences: number[] = [];
  for (let round = 0; round < 5; round++) {
    differences.push((await costOf(() => inSpan('attempt', settings, work))) - (await costOf(work)));
  }
  return spreadOf(differences)?.median ?? Number.NaN;
}
