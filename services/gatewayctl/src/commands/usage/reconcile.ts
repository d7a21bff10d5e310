import { withVisibleTexts } from '@gateway/presentation/visible-text';
import {
  type CounterDifference,
  type ReconcileDayResponse,
  UsageService,
} from '@gateway/proto/admin/v1/usage_service_pb.js';
import type { SumDifference } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { UsageTotals } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { addLocalDays, epochMs, type LocalDay, localDayOf, sleep } from '@gateway/time';
import type { AdminConnection } from '../../connection/admin-connection.ts';
import { NotAsItShouldBe } from '../../failures.ts';
import { note, print } from '../../output/print.ts';
import { countText } from '../../output/words.ts';
import { daysOf, type PeriodFlags, periodOf } from '../flags.ts';

/** Counting a day of many millions of events takes minutes. */
const dayTimeoutMs = 1_800_000;

/**
 * Checks the ledger day by day, and the limiter against it. Prints the differences. @throws
 * NotAsItShouldBe if differences remain.
 */
export async function reconcileUsage(
  admin: AdminConnection,
  { from, to, repair = false }: PeriodFlags & { readonly repair?: boolean },
  // Long enough for a persistent fault to make a counter wrong again.
  againAfterMs = 2_000,
): Promise<void> {
  const lastDay = to ?? localDayOf(epochMs());
  const days = daysOf(periodOf({ from: from ?? addLocalDays(lastDay, -6), to: lastDay }));
  const usage = admin.clientOf(UsageService);
  const compare = (localDay: LocalDay) => usage.reconcileDay({ localDay, repair }, { timeoutMs: dayTimeoutMs });
  const found = { compared: 0, sums: 0, counters: 0, countersAgain: 0 };
  for (const [index, day] of days.entries()) {
    note(`${day} (day ${index + 1} of ${days.length})`);
    const answer = await compare(day);
    found.compared += answer.ledger?.eventsKept ? 1 : 0;
    found.sums += answer.ledger?.differenceCount ?? 0;
    found.counters += answer.counters.length;
    print(dayText(day, withVisibleTexts(answer)));
    if (answer.counters.length === 0) continue;
    // One difference may be a loss; a second one means that the fault persists.
    await sleep(againAfterMs);
    found.countersAgain += (await compare(day)).counters.length;
  }
  const notKept = days.length - found.compared;
  const kept = notKept === 0 ? '' : ` (${countText(notKept, 'more day')} without stored events)`;
  const sums = repair
    ? `${countText(found.sums, 'sum')} repaired`
    : `${countText(found.sums, 'difference')} in sums; repair with --repair`;
  const again =
    found.countersAgain === 0
      ? ''
      : `; ${found.countersAgain} of them differed again shortly after: investigate the cause`;
  const corrected =
    found.counters === 0 ? 'no differences' : `${countText(found.counters, 'counter')} corrected automatically${again}`;
  const limiter = admin.database === undefined ? corrected : 'not compared (no gateway was called)';
  print(
    `Ledger: ${countText(found.compared, 'day')} compared${kept}, ${found.sums === 0 ? 'no differences' : sums}. Limiter: ${limiter}.\n`,
  );
  if (admin.database?.kind === 'shared' && days.includes(localDayOf(epochMs()))) {
    throw new NotAsItShouldBe(
      'the counters of the limiter were not compared. Set GATEWAY_ADMIN_URL to a running gateway.',
    );
  }
  if (found.compared === 0)
    throw new NotAsItShouldBe('nothing to compare: the events of these days are no longer stored.');
  if ((found.sums > 0 && !repair) || found.countersAgain > 0) throw new NotAsItShouldBe('differences remain.');
}

function dayText(day: LocalDay, { ledger, counters }: ReconcileDayResponse): string {
  const { differences = [], differenceCount = 0 } = ledger ?? {};
  const more = differenceCount - differences.length;
  const lines = [
    ...differences.map(differenceText),
    ...(more > 0 ? [`and ${more} more`] : []),
    ...counters.map(counterText),
  ];
  return lines.map((line) => `${day}  ${line}\n`).join('');
}

function differenceText({ tokenId, provider, model, accountId, groupId, ...sums }: SumDifference): string {
  const changes = Object.entries(compared).flatMap(([name, valueIn]) => {
    const [was, is] = [valueIn(sums.recorded) ?? 0, valueIn(sums.counted) ?? 0];
    return was === is ? [] : [`${name} ${was} instead of ${is}`];
  });
  const part = accountId !== '' ? ` of account ${accountId}` : groupId !== '' ? ` of group ${groupId}` : '';
  return `token ${tokenId}, ${provider || '(no provider)'} ${model || '(no model)'}${part}: ${changes.join(', ')}`;
}

const compared: Readonly<Record<string, (totals: UsageTotals | undefined) => number | undefined>> = {
  requests: (totals) => totals?.requests,
  input: (totals) => totals?.inputTokens,
  cached: (totals) => totals?.cachedTokens,
  'cache writes of 5 minutes': (totals) => totals?.cacheWrite5mTokens,
  'cache writes of 1 hour': (totals) => totals?.cacheWrite1hTokens,
  output: (totals) => totals?.outputTokens,
  'millionths of cost': (totals) => totals?.costMicros,
  'input with a cost': (totals) => totals?.costed?.inputTokens,
  'cached with a cost': (totals) => totals?.costed?.cachedTokens,
  'cache writes of 5 minutes with a cost': (totals) => totals?.costed?.cacheWrite5mTokens,
  'cache writes of 1 hour with a cost': (totals) => totals?.costed?.cacheWrite1hTokens,
  'output with a cost': (totals) => totals?.costed?.outputTokens,
  'tokens without a price': (totals) => totals?.unpricedTokens,
  'tool calls without a price': (totals) => totals?.unpricedCalls,
};

function counterText({ tokenId, groupId, counterTokens, ledgerTokens }: CounterDifference): string {
  const counter = groupId === '' ? `token ${tokenId}` : `group ${groupId}`;
  return `${counter}: the limiter counted ${counterTokens ?? 'nothing'} instead of ${ledgerTokens} tokens`;
}
