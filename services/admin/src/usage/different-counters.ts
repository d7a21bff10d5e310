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
 * Makes the limiter compare a day's counters of all tokens and groups with the ledger, and returns
 * those that were wrong. A counter is correct afterwards. The limiter has counters for today, and
 * for yesterday during some hours. For other days there is nothing to compare.
 */
export async function differentCounters(
  peers: Peers,
  localDay: LocalDay,
  today: LocalDay,
  signal: AbortSignal,
): Promise<Difference[]> {
  if (localDay !== today && localDay !== addLocalDays(today, -1)) return [];
  const differences: Difference[] = [];
  const counters = await countersOf(peers, signal);
  try {
    await askForEach(counters, async (counter) => {
      const difference = await differenceOf(peers, counter, localDay, signal);
      if (difference !== undefined) differences.push(difference);
    });
  } catch (thrown) {
    // In the morning the limiter removes yesterday's counters, and answers with this error.
    const isForgotten = thrown instanceof GatewayError && thrown.code === 'invalid_request' && localDay !== today;
    if (!isForgotten) throw thrown;
  }
  return differences.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

function nameOf({ tokenId = '', groupId = '' }: Difference): string {
  return `${groupId} ${tokenId}`;
}

/** A counter of a token, or of a group. */
interface Counter {
  readonly of: Pick<Difference, 'tokenId' | 'groupId'>;
  readonly key: string;
  /** Empty: a token without a group, or a group itself. */
  readonly groupKey: string;
}

async function differenceOf(
  { limiterOperator }: Peers,
  { of, key, groupKey }: Counter,
  localDay: LocalDay,
  signal: AbortSignal,
): Promise<Difference | undefined> {
  const answer = await limiterOperator.reconcileDay({ key, groupKey, localDay }, peerCall(signal));
  const { usedTokensBefore: counterTokens, usedTokensAfter: ledgerTokens } = answer;
  // A counter that was removed is loaded when it is needed: it was not wrong.
  if (counterTokens === undefined || counterTokens === ledgerTokens) return undefined;
  return { ...of, counterTokens, ledgerTokens };
}

/** Personal tokens have no counter of their own. */
async function countersOf({ identity }: Peers, signal: AbortSignal): Promise<readonly Counter[]> {
  const pages = pagesOf((pageToken) => identity.list({ pageSize: 1_000, pageToken }, peerCall(signal)));
  const tokens = (await Array.fromAsync(pages)).flatMap((page) => page.tokens);
  const groupIds = new Set(tokens.map(({ groupId }) => groupId).filter((groupId) => groupId !== ''));
  return [
    ...tokens
      .filter(({ kind }) => kind === TokenKind.SERVICE)
      .map(({ tokenId, groupId }) => {
        return { of: { tokenId }, key: `token:${tokenId}`, groupKey: groupId === '' ? '' : `group:${groupId}` };
      }),
    ...[...groupIds].map((groupId) => ({ of: { groupId }, key: `group:${groupId}`, groupKey: '' })),
  ];
}
