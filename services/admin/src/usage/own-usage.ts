import type { MessageInitShape } from '@bufbuild/protobuf';
import type { GetMyUsageResponseSchema } from '@gateway/proto/admin/v1/usage_service_pb.js';
import type { AccessRules, Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Person } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { QuotaForecast } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { addLocalDays, epochMs, type LocalDay, localDayOf, startOfLocalDayMs } from '@gateway/time';
import type { AdminParts, AdminPeers } from '../parts.ts';
import { peerCall } from '../peer-calls.ts';
import { groupsOf, limitedGroup, limitsOf } from '../rpc/token-listings.ts';
import type { TokenNames } from './token-names.ts';
import { totalOf, usagePages } from './usage-report.ts';

interface OwnUsageParts {
  readonly peers: AdminPeers;
  readonly names: TokenNames;
  readonly logger: AdminParts['logger'];
}

const days = 30;

const byDay = { model: '', accountId: '', groupId: '', grouping: UsageGrouping.DAY, compare: false };

/**
 * The usage of one token, and the rest of its limits. @param known the token at the time of the
 * sign-in.
 */
export async function ownUsage(
  { peers, names, logger }: OwnUsageParts,
  known: Token,
  signal: AbortSignal,
): Promise<MessageInitShape<typeof GetMyUsageResponseSchema>> {
  const { tokenId } = known;
  const options = peerCall(signal);
  // Its limits may have changed since.
  const { tokens } = await peers.identity.list({ tokenIds: [tokenId] }, options);
  const token = tokens[0] ?? known;
  const lastDay = localDayOf(epochMs());
  const period = { firstDay: addLocalDays(lastDay, 1 - days), lastDay };
  const query = { ...period, ...byDay, tokenId };
  const group = (await groupsOf(peers, [token], signal)).get(token.groupId);
  const [{ today, lastSevenDays }, pages, limits, groupLimits, forecasts] = await Promise.all([
    peers.usageQuery.getUsage({ tokenId }, options),
    Array.fromAsync(usagePages({ peers, names }, query, signal)),
    limitsOf(peers, token, signal, group),
    group?.limits === undefined ? undefined : peers.limiter.peek(limitedGroup(group), options),
    forecastsFor({ peers, logger }, [token.access, group?.access], signal),
  ]);
  return {
    // The note is only for operators.
    token: { ...token, note: '' },
    limits,
    groupName: group?.name ?? '',
    groupLimits: groupLimits?.status,
    today,
    lastSevenDays,
    days: pages.flatMap(({ rows }) => rows),
    currency: pages[0]?.currency ?? '',
    forecasts: [...forecasts],
  };
}

/** The usage of all tokens of a person: those of sessions, and those that the person has issued. */
export async function usageOfPerson(
  { peers, names }: Omit<OwnUsageParts, 'logger'>,
  { personId, groupId }: Person,
  signal: AbortSignal,
): Promise<MessageInitShape<typeof GetMyUsageResponseSchema>> {
  const { allTokenIds: tokenIds } = await peers.people.listPersonTokens({ personId }, peerCall(signal));
  const group = (await groupsOf(peers, [{ groupId }], signal)).get(groupId);
  const groupName = group?.name ?? '';
  // A report without tokens would be one of all tokens.
  if (tokenIds.length === 0) return { groupName, today: {}, lastSevenDays: {} };
  const lastDay = localDayOf(epochMs());
  const query = { ...byDay, firstDay: addLocalDays(lastDay, 1 - days), lastDay, tokenId: '', tokenIds };
  const pages = await Array.fromAsync(usagePages({ peers, names }, query, signal));
  const rows = pages.flatMap((page) => page.rows);
  const since = (day: LocalDay) => ({
    sinceMs: startOfLocalDayMs(day),
    totals: totalOf(rows.flatMap(({ usage }) => ((usage.localDay ?? '') < day ? [] : [usage]))),
  });
  return {
    groupName,
    today: since(lastDay),
    lastSevenDays: since(addLocalDays(lastDay, -6)),
    days: rows,
    currency: pages[0]?.currency ?? '',
  };
}

type Rules = Pick<AccessRules, 'accountLabels'> | undefined;

/**
 * The forecasts of pools with an account that all of these rules allow. None while the broker is
 * unreachable: usage and limits do not depend on it.
 */
async function forecastsFor(
  { peers, logger }: Pick<OwnUsageParts, 'peers' | 'logger'>,
  rules: readonly Rules[],
  signal: AbortSignal,
): Promise<readonly QuotaForecast[]> {
  try {
    const { accounts, forecasts } = await peers.broker.listAccounts({}, peerCall(signal));
    const pools = new Set(accounts.filter(({ labels }) => rules.every(allows(labels))).map(({ pool }) => pool));
    return forecasts.filter(({ pool }) => pools.has(pool));
  } catch (fault) {
    signal.throwIfAborted();
    logger.warn({ err: fault }, 'usage of a token is shown without forecasts');
    return [];
  }
}

function allows(labels: readonly string[]) {
  return (rules: Rules) =>
    rules === undefined ||
    rules.accountLabels.length === 0 ||
    rules.accountLabels.some((label) => labels.includes(label));
}
