import type { MessageInitShape } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import type { CounterDifferenceSchema } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { addLocalDays, type LocalDay } from '@gateway/time';
import type { AdminPeers } from '../parts.ts';
import { askForEach, pagesOf, peerCall } from '../peer-calls.ts';

type Peers = Pick<AdminPeers, 'identity' | 'limiterOperator'>;
type Difference = MessageInitShape<typeof CounterDifferenceSchema>;

/**
 * Makes the limiter compare a day's counters of all tokens with the ledger, and returns those that
 * were wrong. A counter is correct afterwards. The limiter has counters for today, and for
 * yesterday during some hours. For other days there is nothing to compare.
 */
export async function differentCounters(
  peers: Peers,
  localDay: LocalDay,
  today: LocalDay,
  signal: AbortSignal,
): Promise<Difference[]> {
  if (localDay !== today && localDay !== addLocalDays(today, -1)) return [];
  const differences: Difference[] = [];
  const tokenIds = await limitedTokens(peers, signal);
  try {
    await askForEach(tokenIds, async (tokenId) => {
      const difference = await differenceOf(peers, tokenId, localDay, signal);
      if (difference !== undefined) differences.push(difference);
    });
  } catch (thrown) {
    // In the morning the limiter removes yesterday's counters, and answers with this error.
    const isForgotten = thrown instanceof GatewayError && thrown.code === 'invalid_request' && localDay !== today;
    if (!isForgotten) throw thrown;
  }
  return differences.sort((a, b) => ((a.tokenId ?? '') < (b.tokenId ?? '') ? -1 : 1));
}

async function differenceOf(
  { limiterOperator }: Peers,
  tokenId: string,
  localDay: LocalDay,
  signal: AbortSignal,
): Promise<Difference | undefined> {
  const asked = { key: `token:${tokenId}`, localDay };
  const answer = await limiterOperator.reconcileDay(asked, peerCall(signal));
  const { usedTokensBefore: counterTokens, usedTokensAfter: ledgerTokens } = answer;
  // A counter that was removed is loaded when it is needed: it was not wrong.
  if (counterTokens === undefined || counterTokens === ledgerTokens) return undefined;
  return { tokenId, counterTokens, ledgerTokens };
}

/** Personal tokens are not counted. */
async function limitedTokens({ identity }: Peers, signal: AbortSignal): Promise<readonly string[]> {
  const pages = pagesOf((pageToken) => identity.list({ pageSize: 1_000, pageToken }, peerCall(signal)));
  const tokens = (await Array.fromAsync(pages)).flatMap((page) => page.tokens);
  return tokens.filter(({ kind }) => kind === TokenKind.SERVICE).map(({ tokenId }) => tokenId);
}
