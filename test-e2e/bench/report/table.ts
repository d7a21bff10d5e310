import type { CountsRow } from '../counts/measure-counts.ts';
import { type FairnessRow, mostTimesAlone } from '../measure/fairness.ts';
import type { StartRow } from '../measure/first-seconds.ts';
import { type GrowthRow, mostGrowth } from '../measure/growth.ts';
import type { ServiceFigures } from '../measure/limiter-checks.ts';
import type { Spread } from '../measure/spread.ts';
import type { TracingRow } from '../measure/tracing-cost.ts';
import { type Bar, units } from './bars.ts';
import type { Results, Row } from './results.ts';

/** The figures as text: medians of the rounds, with their extremes for figures that have a bar. */
export function tableOf(results: Results): string {
  const cells = [headings, ...results.rows.map(cellsOf)];
  const widths = headings.map((_, column) => Math.max(...cells.map((line) => (line[column] ?? '').length)));
  const lines = cells.map((line, index) => {
    const isNewCase = index > 1 && line[0] !== cells[index - 1]?.[0];
    const text = line.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join('  ');
    return `${isNewCase ? '\n' : ''}${text.trimEnd()}`;
  });
  return [
    `${results.machine}, Node ${results.node}, ${results.startedAt}${results.isPinned ? '' : ', NOT pinned to cores'}`,
    ...(results.remark === undefined ? [] : [results.remark]),
    ...results.notes.map((note) => `note: ${note}`),
    '',
    ...lines,
    '',
    ...serviceLine('limiter, exact checks over AdmitStream', results.limiter, 20_000),
    ...serviceLine('usage ingest into Postgres, events', results.ingest, 15_000),
    ...results.growth.map(growthLine),
    ...results.tracing.map(tracingLine),
    ...results.counts.map(countsLine),
    ...results.fairness.map(fairnessLine),
    ...results.start.map(startLine),
    ...problemsOf(results.rows),
    '',
    legend,
  ].join('\n');
}

const headings = [
  'case',
  'system',
  'µs',
  '× nginx',
  '× bare-node',
  '× portkey',
  'backends',
  '/s',
  '+p50 ms',
  '+p99 ms',
  '+first ms',
  'KB/stream',
  'bars',
];

const legend = `µs: processor time of all gateway processes (of nginx, of the peer), per request, in streams per event of the provider. backends:
the same of Redis, NATS and Postgres. × nginx: in the same round, least–most. /s: requests, in streams events, on one core.
+p50, +p99: latency at a fixed rate beyond the direct one. +first: time to the first byte of a paced stream beyond the direct one.`;

function cellsOf(row: Row): readonly string[] {
  return [
    row.case,
    row.system,
    figure(row.gatewayMicros),
    row.timesNginx === undefined ? '' : `${figure(row.timesNginx)} ${extremes(row.timesNginx)}`,
    figure(row.timesBareNode),
    figure(row.timesPortkey),
    figure(row.backendMicros),
    row.perSecond === undefined ? '' : String(Math.round(row.perSecond.median)),
    figure(row.addedP50Ms),
    figure(row.addedP99Ms),
    figure(row.addedFirstByteMs),
    figure(row.kilobytesPerStream),
    row.bars.map(verdictOf).join(', '),
  ];
}

function verdictOf({ of, most, isMet }: Bar): string {
  return `≤ ${most} ${units[of]} ${isMet ? 'met' : 'MISSED'}`;
}

function pad(cell: string, width: number, column: number): string {
  return column < 2 ? cell.padEnd(width) : cell.padStart(width);
}

export function figure(spread: Spread | undefined): string {
  return spread === undefined ? '' : digits(spread.median);
}

function extremes({ least, most }: Spread): string {
  return `(${digits(least)}–${digits(most)})`;
}

function digits(value: number): string {
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function serviceLine(name: string, figures: ServiceFigures | undefined, bar: number): readonly string[] {
  if (figures === undefined) return [];
  const each = Object.entries(figures.microsEach).map(([process, micros]) => `${process} ${digits(micros)} µs`);
  const verdict = figures.perSecond >= bar ? 'met' : 'MISSED';
  return [`${name}: ${Math.round(figures.perSecond)}/s (bar ≥ ${bar}/s: ${verdict}); ${each.join(', ')}`];
}

function growthLine({ what, count, micros, perSecond, timesSmallest = 1 }: GrowthRow): string {
  const verdict = timesSmallest <= mostGrowth ? 'met' : 'MISSED';
  const times = `${digits(timesSmallest)} × the smallest (bar ≤ ${mostGrowth}: ${verdict})`;
  return `${count} ${what}: ${figure(micros)} µs a request, ${times}, ${Math.round(perSecond?.median ?? 0)}/s`;
}

function tracingLine({ case: name, what, micros, added, addedInTurns, most, note }: TracingRow): string {
  const percent = (share: number) => `${digits(share * 100)} %`;
  const verdict = added <= most ? 'met' : 'MISSED';
  const inTurns =
    addedInTurns === undefined
      ? ''
      : `, in turns ${percent(addedInTurns.median)} (${percent(addedInTurns.least)}–${percent(addedInTurns.most)})`;
  const unit = name.endsWith('-stream') ? 'an event' : 'a request';
  const cost = `${figure(micros)} µs ${unit}, adds ${percent(added)} (bar ≤ ${most * 100} %: ${verdict})`;
  return `tracing, ${name}, ${what}: ${cost}${inTurns}${note === '' ? '' : `; ${note}`}`;
}

function countsLine({ case: name, counts }: CountsRow): string {
  const each = Object.entries(counts).map(([count, times]) => `${count} ${digits(times)}`);
  return `counts, ${name}, a request in one process: ${each.join(', ')}`;
}

function fairnessLine({ system, beside, p50, p99, refused, failed, firstFailure }: FairnessRow): string {
  const each = ({ alone, besideOthers, times }: FairnessRow['p50']) =>
    `${figure(alone)} ms alone, ${figure(besideOthers)} beside: ${figure(times)} ×`;
  const isMet = (p99.times?.median ?? Number.NaN) <= mostTimesAlone;
  const problem =
    failed === 0
      ? ''
      : `; PROBLEM: ${failed} requests failed, ${firstFailure} (of the quiet token ${digits(refused * 100)} %)`;
  const verdict = `(bar ≤ ${mostTimesAlone}: ${isMet ? 'met' : 'MISSED'})`;
  return `fairness, ${system}, beside ${beside}: p50 ${each(p50)}; p99 ${each(p99)} ${verdict}${problem}`;
}

function startLine({ system, perSecond, seconds, failed, firstFailure }: StartRow): string {
  const each = seconds.map(({ p50, p99 }, index) => `${index + 1}: p50 ${figure(p50)}, p99 ${figure(p99)} ms`);
  const problem = failed === 0 ? '' : `; PROBLEM: ${failed} requests failed, ${firstFailure}`;
  return `first seconds after the start, ${system}, ${perSecond}/s: ${each.join('; ')}${problem}`;
}

function problemsOf(rows: readonly Row[]): readonly string[] {
  return rows
    .filter(({ failed, problem }) => failed > 0 || problem !== undefined)
    .map((row) => `PROBLEM ${row.case}, ${row.system}: ${row.failed} requests failed; ${row.problem}`);
}
