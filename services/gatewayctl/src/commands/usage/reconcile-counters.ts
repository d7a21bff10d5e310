import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { RpcError } from '@gateway/rpc';
import { addLocalDays, type LocalDay } from '@gateway/time';
import type { UsagePlane } from '../../control-plane/control-plane.ts';
import { isUnimplemented } from '../../output/failures.ts';
import type { Terminal } from '../../output/terminal.ts';

const callOptions = { timeoutMs: 10_000 };

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
  if (wanted.length === 0) return fine('Limiter: not asked, it counts today and yesterday only.');
  const { limiter } = plane;
  if (limiter === undefined) {
    return plane.countersMayExist
      ? notCompared('none is known. Name its admin address with --limiter.')
      : fine('Limiter: not asked, no gateway runs on this database, so that there are no counters.');
  }
  const comparison = new Comparison({ ...plane, limiter }, terminal);
  try {
    const tokenIds = await limitedTokens(plane, today);
    if (tokenIds === undefined) {
      return notCompared(
        "the process at GATEWAY_ADMIN_URL can not list tokens. Name identity's admin address with --identity; or unset GATEWAY_ADMIN_URL and set DATABASE_URL.",
      );
    }
    for (const day of wanted) await comparison.compareAll(day, tokenIds, day === today);
    await comparison.lookAgain(againAfterMs);
  } catch (thrown) {
    if (isUnimplemented(thrown)) {
      return notCompared('that address does not serve it. Name its admin address with --limiter.');
    }
    if (!(thrown instanceof RpcError || thrown instanceof GatewayError)) throw thrown;
    return notCompared(`it was not asked to the end (${thrown.message}). Run this again when it answers.`);
  }
  return comparison.outcome;
}

type AnsweringPlane = UsagePlane & { readonly limiter: NonNullable<UsagePlane['limiter']> };

interface Counter {
  readonly day: LocalDay;
  readonly tokenId: string;
}

class Comparison {
  readonly #plane: AnsweringPlane;
  readonly #terminal: Terminal;
  readonly #compared: string[] = [];
  readonly #wrong: Counter[] = [];
  #stillWrong = 0;

  constructor(plane: AnsweringPlane, terminal: Terminal) {
    this.#plane = plane;
    this.#terminal = terminal;
  }

  /** @param isToday a day before it may be over for the limiter. */
  async compareAll(day: LocalDay, tokenIds: readonly string[], isToday: boolean): Promise<void> {
    this.#terminal.note(`${day}: asking the limiter for ${tokenIds.length} tokens`);
    let compared = 0;
    for (const tokenId of tokenIds) {
      try {
        if (!(await this.#isRight({ day, tokenId }))) this.#wrong.push({ day, tokenId });
        compared++;
      } catch (thrown) {
        if (isToday || !isRefusal(thrown)) throw thrown;
        this.#compared.push(`${day} is no longer counted`);
        return;
      }
    }
    this.#compared.push(`${compared} counters of ${day} compared`);
  }

  /** What is wrong once can have been lost; what is wrong again is being made wrong. */
  async lookAgain(afterMs: number): Promise<void> {
    if (this.#wrong.length === 0) return;
    await sleep(afterMs);
    for (const counter of this.#wrong) if (!(await this.#isRight(counter))) this.#stillWrong++;
  }

  get outcome(): CountersReconciled {
    const differences =
      this.#wrong.length === 0
        ? 'no differences'
        : this.#stillWrong === 0
          ? `${this.#wrong.length} mended by itself`
          : `${this.#wrong.length} mended by itself, of which ${this.#stillWrong} differed again soon after: look for the cause`;
    return {
      summary: `Limiter: ${[...this.#compared, differences].join(', ')}.`,
      differencesLeft: this.#stillWrong > 0,
      notCompared: false,
    };
  }

  async #isRight({ day, tokenId }: Counter): Promise<boolean> {
    const request = { key: `token:${tokenId}`, localDay: day };
    const answer = await this.#plane.limiter.reconcileDay(request, callOptions);
    const { usedTokensBefore, usedTokensAfter, pendingTokens } = answer;
    // A counter that was forgotten is loaded when it is needed.
    if (usedTokensBefore === undefined || usedTokensBefore === usedTokensAfter) return true;
    await this.#terminal.print(
      `${day}  token ${tokenId}: the limiter had counted ${usedTokensBefore} tokens instead of ${usedTokensAfter}, ${pendingTokens} of them still on their way to the ledger\n`,
    );
    return false;
  }
}

function fine(summary: string): CountersReconciled {
  return { summary, differencesLeft: false, notCompared: false };
}

function notCompared(why: string): CountersReconciled {
  return { summary: `Limiter: NOT compared: ${why}`, differencesLeft: false, notCompared: true };
}

/** The limiter forgets yesterday in the morning, and says so. */
function isRefusal(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.code === 'invalid_request';
}

/** Tokens that can have a limit; where that is not known, those that used something; undefined when that is not known either. */
async function limitedTokens(plane: UsagePlane, day: LocalDay): Promise<readonly string[] | undefined> {
  return (await ifImplemented(serviceTokens(plane))) ?? (await ifImplemented(tokensWithUsage(plane, day)));
}

async function ifImplemented<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (thrown) {
    if (!isUnimplemented(thrown)) throw thrown;
    return undefined;
  }
}

async function serviceTokens({ identity }: UsagePlane): Promise<readonly string[]> {
  const { tokens } = await identity.list({ includeRevoked: false }, callOptions);
  return tokens.filter(({ kind }) => kind === TokenKind.SERVICE).map(({ tokenId }) => tokenId);
}

/** Of that day and the one before. */
async function tokensWithUsage({ report }: UsagePlane, day: LocalDay): Promise<readonly string[]> {
  const tokenIds = new Set<string>();
  const request = { firstDay: addLocalDays(day, -1), lastDay: day, grouping: UsageGrouping.TOKEN };
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page: Awaited<ReturnType<typeof report.reportUsage>> = await report.reportUsage(
      { ...request, pageToken },
      callOptions,
    );
    for (const { tokenId } of page.rows) tokenIds.add(tokenId);
    pageToken = page.nextPageToken === '' ? undefined : page.nextPageToken;
  }
  return [...tokenIds];
}
