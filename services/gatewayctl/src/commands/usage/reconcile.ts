import type { ReconcileDayResponse, SumDifference } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { UsageTotals } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { addLocalDays, type Clock, type LocalDay, localDayOf } from '@gateway/time';
import type { UsagePlane } from '../../control-plane/control-plane.ts';
import { servedBy } from '../../output/failures.ts';
import type { Terminal } from '../../output/terminal.ts';
import { reconcileCounters } from './reconcile-counters.ts';

export interface ReconcileFlags {
  readonly from?: string;
  readonly to?: string;
  readonly repair?: boolean;
}

export interface Reconciled {
  /** Sums or counters that are still wrong. */
  readonly differencesLeft: boolean;
  /** Something that was to be compared could not be. */
  readonly notCompared: boolean;
}

/** Counting a day of many millions of events takes minutes. */
const callOptions = { timeoutMs: 1_800_000 };

/** Long enough for a counter that something keeps making wrong to be wrong again. */
const againAfterMs = 2_000;

/** Checks the ledger day by day, and then the limiter against it. Prints what differs; notes its progress on the side. */
export async function reconcileUsage(
  plane: UsagePlane,
  flags: ReconcileFlags,
  terminal: Terminal,
  clock: Clock,
  pauseMs = againAfterMs,
): Promise<Reconciled> {
  const today = localDayOf(clock.nowMs());
  const last = flags.to ?? today;
  const days = daysBetween(flags.from ?? addLocalDays(last, -6), last);
  const found: Findings = { compared: 0, notKept: 0, wrong: 0 };
  for (const [index, day] of days.entries()) {
    terminal.note(`${day} (day ${index + 1} of ${days.length})`);
    const request = { localDay: day, repair: flags.repair ?? false };
    const answer = await servedBy('usage-ingest', plane.ledger.reconcileDay(request, callOptions));
    found.compared += answer.eventsKept ? 1 : 0;
    found.notKept += answer.eventsKept ? 0 : 1;
    found.wrong += answer.differenceCount;
    await terminal.print(dayText(day, answer));
  }
  const counters = await reconcileCounters(plane, { today, days, againAfterMs: pauseMs }, terminal);
  await terminal.print(`${ledgerSummary(found, flags.repair ?? false)} ${counters.summary}\n`);
  return {
    differencesLeft: (found.wrong > 0 && flags.repair !== true) || counters.differencesLeft,
    notCompared: found.compared === 0 || counters.notCompared,
  };
}

interface Findings {
  compared: number;
  notKept: number;
  wrong: number;
}

function daysBetween(first: LocalDay, last: LocalDay): readonly LocalDay[] {
  if (last < first) throw new Error('--to is before --from.');
  const days: LocalDay[] = [];
  for (let day = first; day <= last; day = addLocalDays(day, 1)) days.push(day);
  return days;
}

function dayText(day: LocalDay, { differences, differenceCount }: ReconcileDayResponse): string {
  const lines = differences.map((difference) => `${day}  ${differenceText(difference)}\n`);
  const more = differenceCount - differences.length;
  return lines.join('') + (more > 0 ? `${day}  and ${more} more\n` : '');
}

function differenceText({ tokenId, provider, model, recorded, counted }: SumDifference): string {
  const changes = fields.flatMap(([name, field]) => {
    const [was, is] = [recorded?.[field] ?? 0n, counted?.[field] ?? 0n];
    return was === is ? [] : [`${name} ${was} instead of ${is}`];
  });
  return `token ${tokenId}, ${provider || '(no provider)'} ${model || '(no model)'}: ${changes.join(', ')}`;
}

const fields: readonly (readonly [string, Exclude<keyof UsageTotals, `$${string}`>])[] = [
  ['requests', 'requests'],
  ['input', 'inputTokens'],
  ['cached', 'cachedTokens'],
  ['output', 'outputTokens'],
];

function ledgerSummary({ compared, notKept, wrong }: Findings, repair: boolean): string {
  const kept = notKept === 0 ? '' : ` (${notKept} more are older than their events are kept)`;
  const days = `Ledger: ${compared} days compared${kept}`;
  if (wrong === 0) return `${days}, no differences.`;
  return repair ? `${days}, ${wrong} sums mended.` : `${days}, ${wrong} sums differ: mend them with --repair.`;
}
