import type { RecordedRequest } from '@gateway/simulator';
import type { LedgerRow } from '../injections/ledger-tap.ts';
import type { Injected } from '../injections/schedule.ts';
import type { ClientView } from '../load/ask.ts';
import { requestKinds } from '../load/request-kinds.ts';
import type { JudgedRequest, Judgement, Verdict } from './judge-requests.ts';

const verdicts: readonly Verdict[] = ['exact', 'estimated', 'unbilled', 'wiped', 'lost', 'doubled', 'wrong'];
const views: readonly ClientView[] = ['whole', 'cut', 'left', 'refused', 'broken', 'unreached'];

/** All results, for people. */
export function conservationReport(
  { requests, unknownRows }: Judgement,
  { injected, seed }: { readonly injected: readonly Injected[]; readonly seed: number },
): string {
  const ofVerdict = (verdict: Verdict) => requests.filter((judged) => judged.verdict === verdict);
  return [
    `conservation, seed ${seed}`,
    '',
    ...table([
      ['injection', 'times', 'seconds'],
      ...[...Map.groupBy(injected, ({ injection }) => injection.name)].map(([name, times]) => [
        name,
        times.length,
        seconds(times.reduce((sum, { tookMs }) => sum + tookMs, 0)),
      ]),
    ]),
    '',
    ...table([
      ['requests', ...views, 'all'],
      ...requestKinds.map(({ name }) => {
        const ofKind = requests.filter(({ request }) => request.kind.name === name);
        return [name, ...views.map((view) => countView(ofKind, view)), ofKind.length];
      }),
      ['all', ...views.map((view) => countView(requests, view)), requests.length],
    ]),
    refusals(requests),
    '',
    ...table([
      ['in the books', 'requests', 'tokens in rows', 'tokens billed', 'billed for other attempts'],
      ...verdicts.map((verdict) => sumLine(verdict, ofVerdict(verdict))),
      ['unknown', unknownRows.length, sumRows(unknownRows), 0, 0],
      sumLine('all', requests),
    ]),
  ].join('\n');
}

export function injectedLine({ injection, atMs, tookMs, effect }: Injected): string {
  return `${seconds(atMs).padStart(6)} s  ${injection.family.padEnd(8)}  ${injection.name}: ${effect} (${seconds(tookMs)} s)`;
}

function countView(requests: readonly JudgedRequest[], view: ClientView): number {
  return requests.filter(({ request }) => request.view === view).length;
}

/** As in "refused with 503: 40, 429: 2". */
function refusals(requests: readonly JudgedRequest[]): string {
  const statuses = requests.flatMap(({ request }) => (request.view === 'refused' ? [request.status] : []));
  const counts = [...Map.groupBy(statuses, (status) => status)].map(([status, { length }]) => `${status}: ${length}`);
  return `refused with ${counts.join(', ') || 'nothing'}`;
}

function sumLine(name: string, requests: readonly JudgedRequest[]): readonly (string | number)[] {
  return [
    name,
    requests.length,
    sumRows(requests.flatMap(({ rows }) => rows)),
    sumBilled(requests.flatMap(({ attempts }) => attempts.slice(-1))),
    sumBilled(requests.flatMap(({ attempts }) => attempts.slice(0, -1))),
  ];
}

function sumRows(rows: readonly LedgerRow[]): number {
  return rows.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
}

function sumBilled(attempts: readonly RecordedRequest[]): number {
  return attempts.reduce((sum, { billed }) => sum + billed.inputTokens + billed.outputTokens, 0);
}

function table(rows: readonly (readonly (string | number)[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? String(cell).padEnd(width) : String(cell).padStart(width);
      })
      .join('  '),
  );
}

function seconds(durationMs: number): string {
  return (durationMs / 1_000).toFixed(1);
}
