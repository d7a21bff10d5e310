import { GatewayError } from '@gateway/errors';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { RpcError } from '@gateway/rpc';
import type { LocalDay } from '@gateway/time';
import { isUnimplemented } from '../../control-plane/unimplemented.ts';
import type { UsagePlane } from '../../control-plane/usage-plane.ts';
import type { Terminal } from '../../output/terminal.ts';

const callOptions = { timeoutMs: 10_000 };

/** Has the limiter bring its counters to the ledger, prints those that it had to change, and sums up in a sentence. */
export async function reconcileCounters(
  plane: UsagePlane,
  days: readonly LocalDay[],
  terminal: Terminal,
): Promise<string> {
  const { limiter } = plane;
  if (days.length === 0) return 'Limiter: not asked, it counts today and yesterday only.';
  if (limiter === undefined) return 'Limiter: not asked, none is known. Name its admin address with --limiter.';
  try {
    return await askForAll({ ...plane, limiter }, days, terminal);
  } catch (thrown) {
    if (isUnimplemented(thrown)) {
      return 'Limiter: not asked, that address does not serve it. Name its admin address with --limiter.';
    }
    if (!(thrown instanceof RpcError || thrown instanceof GatewayError)) throw thrown;
    return `Limiter: not asked to the end (${thrown.message}). Run this again when it answers.`;
  }
}

type AnsweringPlane = UsagePlane & { readonly limiter: NonNullable<UsagePlane['limiter']> };

async function askForAll(plane: AnsweringPlane, days: readonly LocalDay[], terminal: Terminal): Promise<string> {
  let asked = 0;
  let changed = 0;
  for (const localDay of days) {
    const tokenIds = await limitedTokens(plane, localDay);
    if (tokenIds === undefined) {
      return 'Limiter: not asked, nobody at GATEWAY_ADMIN_URL can list tokens. Unset it and set DATABASE_URL.';
    }
    terminal.note(`${localDay}: asking the limiter for ${tokenIds.length} tokens`);
    for (const tokenId of tokenIds) {
      const request = { key: `token:${tokenId}`, localDay };
      const { usedTokensBefore, usedTokensAfter, pendingTokens } = await plane.limiter.reconcileDay(
        request,
        callOptions,
      );
      asked++;
      // A counter that was forgotten is loaded when it is needed.
      if (usedTokensBefore === undefined || usedTokensBefore === usedTokensAfter) continue;
      changed++;
      await terminal.print(
        `${localDay}  token ${tokenId}: the limiter had counted ${usedTokensBefore} tokens instead of ${usedTokensAfter}, ${pendingTokens} of them still on their way to the ledger\n`,
      );
    }
  }
  return `Limiter: ${asked} counters compared, ${changed === 0 ? 'no differences' : `${changed} mended by itself`}.`;
}

/** Tokens that can have a limit; where nobody knows which, those that used something; undefined when nobody knows either. */
async function limitedTokens(plane: AnsweringPlane, day: LocalDay): Promise<readonly string[] | undefined> {
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

async function serviceTokens({ identity }: AnsweringPlane): Promise<readonly string[]> {
  const { tokens } = await identity.list({ includeRevoked: false }, callOptions);
  return tokens.filter(({ kind }) => kind === TokenKind.SERVICE).map(({ tokenId }) => tokenId);
}

async function tokensWithUsage({ report }: AnsweringPlane, day: LocalDay): Promise<readonly string[]> {
  const tokenIds: string[] = [];
  const request = { firstDay: day, lastDay: day, grouping: UsageGrouping.TOKEN };
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const page: Awaited<ReturnType<typeof report.reportUsage>> = await report.reportUsage(
      { ...request, pageToken },
      callOptions,
    );
    tokenIds.push(...page.rows.map(({ tokenId }) => tokenId));
    pageToken = page.nextPageToken === '' ? undefined : page.nextPageToken;
  }
  return tokenIds;
}
