import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { ReconcileDayResponse, SumDifference } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { RpcError } from '@gateway/rpc';
import { addLocalDays, type Clock, type LocalDay, localDayOf } from '@gateway/time';
import { callOptions, type UsagePlane } from '../../control-plane.ts';
import { isUnimplemented, servedBy } from '../../failures.ts';
import { note, print } from '../../output.ts';

export interface ReconcileFlags {
  readonly from?: string;
  readonly to?: string;
  readonly repair?: boolean;
}

/** `differencesLeft`: sums or counters are still wrong. `notCompared`: something that was to be compared could not be. */
export type Reconciled = Readonly<Record<'differencesLeft' | 'notCompared', boolean>>;

/** Checks the ledger day by day, and then the limiter against it. Prints what differs; notes its progress on the side. */
export async function reconcileUsage(
  plane: UsagePlane,
  { from, to, repair = false }: ReconcileFlags,
  clock: Clock,
  // Long enough for a counter that something keeps making wrong to be wrong again.
  againAfterMs = 2_000,
): Promise<Reconciled> {
  const today = localDayOf(clock.nowMs());
  const last = to ?? today;
  const days = daysBetween(from ?? addLocalDays(last, -6), last);
  let compared = 0;
  let wrong = 0;
  for (const [index, localDay] of days.entries()) {
    note(`${localDay} (day ${index + 1} of ${days.length})`);
    // Counting a day of many millions of events takes minutes.
    const call = plane.ledger.reconcileDay({ localDay, repair }, { timeoutMs: 1_800_000 });
    const answer = await servedBy('usage-ingest', call);
    compared += answer.eventsKept ? 1 : 0;
    wrong += answer.differenceCount;
    print(dayText(localDay, answer));
  }
  // Today first: it is the day that limits. The limiter counts today, and yesterday for some hours.
  const counted = [today, addLocalDays(today, -1)].filter((day) => days.includes(day));
  const counters = await reconcileCounters(plane, counted, today, againAfterMs);
  const notKept = days.length - compared;
  const kept = notKept === 0 ? '' : ` (${notKept} more are older than their events are kept)`;
  const found = repair ? `${wrong} sums mended` : `${wrong} sums differ: mend them with --repair`;
  print(
    `Ledger: ${compared} days compared${kept}, ${wrong === 0 ? 'no differences' : found}. Limiter: ${counters.summary}\n`,
  );
  return {
    differencesLeft: (wrong > 0 && !repair) || counters.differencesLeft,
    notCompared: compared === 0 || counters.notCompared,
  };
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
  const changes = sums.flatMap(([name, field]) => {
    const [was, is] = [recorded?.[field] ?? 0n, counted?.[field] ?? 0n];
    return was === is ? [] : [`${name} ${was} instead of ${is}`];
  });
  return `token ${tokenId}, ${provider || '(no provider)'} ${model || '(no model)'}: ${changes.join(', ')}`;
}

const sums = [
  ['requests', 'requests'],
  ['input', 'inputTokens'],
  ['cached', 'cachedTokens'],
  ['output', 'outputTokens'],
] as const;

/** Has the limiter compare its counters with the ledger, and prints those that were wrong. It mends a counter with the comparison. */
async function reconcileCounters(
  { limiter, identity, countersMayExist }: UsagePlane,
  days: readonly LocalDay[],
  today: LocalDay,
  againAfterMs: number,
): Promise<Reconciled & { readonly summary: string }> {
  if (days.length === 0) return fine('not asked, it counts today and yesterday only.');
  if (limiter === undefined) {
    return countersMayExist
      ? notCompared('none is known. Name its admin address with --limiter.')
      : fine('not asked, no gateway runs on this database, so that there are no counters.');
  }
  try {
    const tokenIds = await limitedTokens(identity);
    if (tokenIds === undefined) {
      return notCompared(
        "the process at GATEWAY_ADMIN_URL can not list tokens. Name identity's admin address with --identity; or unset GATEWAY_ADMIN_URL and set DATABASE_URL.",
      );
    }
    const findings: string[] = [];
    const wrong: Counter[] = [];
    for (const day of days) {
      note(`${day}: asking the limiter for ${tokenIds.length} tokens`);
      const counters = tokenIds.map((tokenId) => ({ day, tokenId }));
      try {
        wrong.push(...(await wrongAmong(counters, limiter)));
        findings.push(`${tokenIds.length} counters of ${day} compared`);
      } catch (thrown) {
        // The limiter forgets yesterday in the morning, and says so.
        const isForgotten = thrown instanceof GatewayError && thrown.code === 'invalid_request' && day !== today;
        if (!isForgotten) throw thrown;
        findings.push(`${day} is no longer counted`);
      }
    }
    if (wrong.length === 0) return fine(`${findings.join(', ')}, no differences.`);
    // What is wrong once can have been lost; what is wrong again is being made wrong.
    await sleep(againAfterMs);
    const again = (await wrongAmong(wrong, limiter)).length;
    const wrongAgain = again === 0 ? '' : `, of which ${again} differed again soon after: look for the cause`;
    const summary = `${findings.join(', ')}, ${wrong.length} mended by itself${wrongAgain}.`;
    return { summary, differencesLeft: again > 0, notCompared: false };
  } catch (thrown) {
    if (isUnimplemented(thrown)) {
      return notCompared('that address does not serve it. Name its admin address with --limiter.');
    }
    if (!(thrown instanceof RpcError || thrown instanceof GatewayError)) throw thrown;
    return notCompared(`it was not asked to the end (${thrown.message}). Run this again when it answers.`);
  }
}

function fine(summary: string) {
  return { summary, differencesLeft: false, notCompared: false };
}

function notCompared(why: string) {
  return { summary: `NOT compared: ${why}`, differencesLeft: false, notCompared: true };
}

interface Counter {
  readonly day: LocalDay;
  readonly tokenId: string;
}

async function wrongAmong(
  counters: readonly Counter[],
  limiter: NonNullable<UsagePlane['limiter']>,
): Promise<readonly Counter[]> {
  const wrong: Counter[] = [];
  for (const { day, tokenId } of counters) {
    const answer = await limiter.reconcileDay({ key: `token:${tokenId}`, localDay: day }, callOptions);
    const { usedTokensBefore, usedTokensAfter, pendingTokens } = answer;
    // A counter that was forgotten is loaded when it is needed.
    if (usedTokensBefore === undefined || usedTokensBefore === usedTokensAfter) continue;
    wrong.push({ day, tokenId });
    print(
      `${day}  token ${tokenId}: the limiter had counted ${usedTokensBefore} tokens instead of ${usedTokensAfter}, ${pendingTokens} of them still on their way to the ledger\n`,
    );
  }
  return wrong;
}

/** Tokens that can have a limit; undefined when that process does not list tokens. */
async function limitedTokens(identity: UsagePlane['identity']): Promise<readonly string[] | undefined> {
  const listed = await identity.list({ includeRevoked: false }, callOptions).catch((thrown: unknown) => {
    if (!isUnimplemented(thrown)) throw thrown;
  });
  return listed?.tokens.filter(({ kind }) => kind === TokenKind.SERVICE).map(({ tokenId }) => tokenId);
}
