import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { RpcError } from '@gateway/rpc';
import { addLocalDays, type LocalDay } from '@gateway/time';
import { callOptions, pagesOf, type UsagePlane } from '../../control-plane/control-plane.ts';
import { isUnimplemented } from '../../output/failures.ts';
import type { Terminal } from '../../output/terminal.ts';

/** What came of the comparison of the limiter's counters with the ledger. */
export interface CountersReconciled {
  /** One or two sentences. */
  readonly summary: string;
  /** A counter was wrong again soon after it had been mended. */
  readonly differencesLeft: boolean;
  /** Counters of today were wanted, may exist, and could not be compared, or not all of them. */
  readonly notCompared: boolean;
}

export interface WantedCounters {
  readonly today: LocalDay;
  /** Of all days that are looked at. The limiter counts today, and yesterday for some hours. */
  readonly days: readonly LocalDay[];
  /** How long to wait before counters that were wrong are looked at again. */
  readonly againAfterMs: number;
}

/**
 * Has the limiter compare its counters with the ledger, and prints those that were wrong. The limiter knows which usage is still on
 * its way to the ledger and counts that in; it mends a counter with the comparison.
 */
export async function reconcileCounters(
  plane: UsagePlane,
  { today, days, againAfterMs }: WantedCounters,
  terminal: Terminal,
): Promise<CountersReconciled> {
  // Today first: it is the day that limits.
  const wanted = [today, addLocalDays(today, -1)].filter((day) => days.includes(day));
  if (wanted.length === 0) return fine('not asked, it counts today and yesterday only.');
  const { limiter } = plane;
  if (limiter === undefined) {
    return plane.countersMayExist
      ? notCompared('none is known. Name its admin address with --limiter.')
      : fine('not asked, no gateway runs on this database, so that there are no counters.');
  }
  try {
    const tokenIds = await limitedTokens(plane, today);
    if (tokenIds === undefined) {
      return notCompared(
        "the process at GATEWAY_ADMIN_URL can not list tokens. Name identity's admin address with --identity; or unset GATEWAY_ADMIN_URL and set DATABASE_URL.",
      );
    }
    const findings: string[] = [];
    const wrong: Counter[] = [];
    for (const day of wanted) {
      terminal.note(`${day}: asking the limiter for ${tokenIds.length} tokens`);
      const found = await wrongCounters(limiter, day, tokenIds, terminal).catch(notCountedAnyMore(day === today));
      findings.push(
        found === undefined ? `${day} is no longer counted` : `${tokenIds.length} counters of ${day} compared`,
      );
      wrong.push(...(found ?? []));
    }
    const again = wrong.length === 0 ? 0 : await countWrongAgain(limiter, wrong, againAfterMs, terminal);
    return { ...fine(`${findings.join(', ')}, ${differencesText(wrong.length, again)}.`), differencesLeft: again > 0 };
  } catch (thrown) {
    if (isUnimplemented(thrown)) {
      return notCompared('that address does not serve it. Name its admin address with --limiter.');
    }
    if (!(thrown instanceof RpcError || thrown instanceof GatewayError)) throw thrown;
    return notCompared(`it was not asked to the end (${thrown.message}). Run this again when it answers.`);
  }
}

function fine(summary: string): CountersReconciled {
  return { summary: `Limiter: ${summary}`, differencesLeft: false, notCompared: false };
}

function notCompared(why: string): CountersReconciled {
  return { summary: `Limiter: NOT compared: ${why}`, differencesLeft: false, notCompared: true };
}

function differencesText(wrong: number, wrongAgain: number): string {
  if (wrong === 0) return 'no differences';
  const again = wrongAgain === 0 ? '' : `, of which ${wrongAgain} differed again soon after: look for the cause`;
  return `${wrong} mended by itself${again}`;
}

type Limiter = NonNullable<UsagePlane['limiter']>;

interface Counter {
  readonly day: LocalDay;
  readonly tokenId: string;
}

async function wrongCounters(limiter: Limiter, day: LocalDay, tokenIds: readonly string[], terminal: Terminal) {
  const wrong: Counter[] = [];
  for (const tokenId of tokenIds) {
    const counter = { day, tokenId };
    if (!(await isRight(limiter, counter, terminal))) wrong.push(counter);
  }
  return wrong;
}

/** The limiter forgets yesterday in the morning, and says so. */
function notCountedAnyMore(isToday: boolean): (thrown: unknown) => undefined {
  return (thrown) => {
    if (isToday || !(thrown instanceof GatewayError) || thrown.code !== 'invalid_request') throw thrown;
  };
}

/** What is wrong once can have been lost; what is wrong again is being made wrong. */
async function countWrongAgain(limiter: Limiter, counters: readonly Counter[], afterMs: number, terminal: Terminal) {
  await sleep(afterMs);
  let wrong = 0;
  for (const counter of counters) if (!(await isRight(limiter, counter, terminal))) wrong++;
  return wrong;
}

async function isRight(limiter: Limiter, { day, tokenId }: Counter, terminal: Terminal): Promise<boolean> {
  const answer = await limiter.reconcileDay({ key: `token:${tokenId}`, localDay: day }, callOptions);
  const { usedTokensBefore, usedTokensAfter, pendingTokens } = answer;
  // A counter that was forgotten is loaded when it is needed.
  if (usedTokensBefore === undefined || usedTokensBefore === usedTokensAfter) return true;
  await terminal.print(
    `${day}  token ${tokenId}: the limiter had counted ${usedTokensBefore} tokens instead of ${usedTokensAfter}, ${pendingTokens} of them still on their way to the ledger\n`,
  );
  return false;
}

/** Tokens that can have a limit; where that is not known, those that used something; undefined when that is not known either. */
async function limitedTokens({ identity, report }: UsagePlane, day: LocalDay): Promise<readonly string[] | undefined> {
  const listed = await ifImplemented(identity.list({ includeRevoked: false }, callOptions));
  if (listed === undefined) return ifImplemented(tokensWithUsage(report, day));
  return listed.tokens.filter(({ kind }) => kind === TokenKind.SERVICE).map(({ tokenId }) => tokenId);
}

async function ifImplemented<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (thrown) {
    if (!isUnimplemented(thrown)) throw thrown;
    return undefined;
  }
}

/** Of that day and the one before. */
async function tokensWithUsage(report: UsagePlane['report'], day: LocalDay): Promise<readonly string[]> {
  const tokenIds = new Set<string>();
  const request = { firstDay: addLocalDays(day, -1), lastDay: day, grouping: UsageGrouping.TOKEN };
  const pages = pagesOf((pageToken) => report.reportUsage({ ...request, pageToken }, callOptions));
  for await (const { rows } of pages) for (const { tokenId } of rows) tokenIds.add(tokenId);
  return [...tokenIds];
}
