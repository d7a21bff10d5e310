import type { JsonObject } from '@bufbuild/protobuf';
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { unknownContext } from '@gateway/prices';
import type { CreateGroupRequest, GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { type Group, GroupSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod, type LimitStatus } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { GatewayFile, ModelPrice } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { epochMs, startOfLocalDayMs } from '@gateway/time';
import { type GivenGroup, groupProblems, requestsAtATimeOfBudget } from '@gateway/tokens';
import type { AdminParts } from '../parts.ts';
import { askForEach, peerCall } from '../peer-calls.ts';
import { readableJson } from '../readable-json.ts';
import {
  budgetWarnings,
  hasBudget,
  modelsWithoutPrice,
  type PricedModels,
  pricedModels,
} from './models-without-price.ts';
import { changedMeanwhile, checkSentences, invalidFields, notFound } from './problems.ts';
import { limitedGroup, shownDaysUntil, tokensOn } from './token-listings.ts';

/**
 * Groups of tokens. Problems are reported before the request reaches identity, which applies the
 * same rules to every caller.
 */
export function groupService(parts: AdminParts): ServiceImpl<typeof GroupService> {
  const { peers, audit } = parts;
  const { groups } = peers;
  const all = async ({ signal }: HandlerContext) => (await groups.listGroups({}, peerCall(signal))).groups;
  /** @throws ConnectError `not_found` */
  const byId = async (groupId: string, context: HandlerContext): Promise<Group> => {
    const group = (await all(context)).find((each) => each.groupId === groupId);
    if (group === undefined) throw notFound(`group ${groupId}`);
    return group;
  };
  const checkName = async (name: string, own: string, context: HandlerContext) => {
    const isTaken = (await all(context)).some((each) => each.name === name.trim() && each.groupId !== own);
    if (isTaken) throw invalidFields({ name: `A group with the name ${name.trim()} exists already.` });
  };
  const warningsOf = async (group: Group | undefined, { signal }: HandlerContext) => {
    if (group === undefined || !hasBudget(group)) return [];
    const { priced } = await pricesOf(parts, signal);
    return priced === undefined ? [] : budgetWarnings(group, priced).warnings;
  };
  return {
    async listGroups(_request, context) {
      const known = await all(context);
      const [listings, { file, priced }] = await Promise.all([
        groupListings(parts, known, context.signal),
        pricesOf(parts, context.signal),
      ]);
      return {
        groups: listings.map((each) => withBound(each, file, priced)),
        currency: file?.currency ?? '',
        modelsWithoutPrice: priced === undefined ? [] : modelsWithoutPrice(priced, known),
      };
    },

    async getGroup({ group: wanted }, context) {
      const group = meantGroup(await all(context), wanted.trim());
      const [[listing], { file, priced }] = await Promise.all([
        groupListings(parts, [group], context.signal),
        pricesOf(parts, context.signal),
      ]);
      const shownGroup = listing === undefined ? {} : { group: withBound(listing, file, priced) };
      return { ...shownGroup, currency: file?.currency ?? '' };
    },

    async createGroup(request, context) {
      check(request);
      await checkName(request.name, '', context);
      const { $typeName: _, ...details } = request;
      const created = await audit.change(
        context,
        { action: 'group.create', subject: request.name.trim() },
        async () => {
          const { group } = await groups.createGroup(details, peerCall(context.signal));
          return { answer: { group }, after: shown(group) };
        },
      );
      return { ...created, warnings: await warningsOf(created.group, context) };
    },

    async updateGroup(request, context) {
      const { $typeName: _, ...change } = request;
      const known = await byId(request.groupId, context);
      check(request);
      if (request.name !== undefined) await checkName(request.name, request.groupId, context);
      const changed = await audit.change(context, { action: 'group.update', subject: known.name }, async () => {
        for (;;) {
          // Even if any revision will do: `before` in the audit log must be what this change
          // replaced.
          const before = await byId(request.groupId, context);
          const expectedRevision = request.expectedRevision || before.revision;
          const answer = await groups.updateGroup({ ...change, expectedRevision }, peerCall(context.signal));
          if (!answer.conflict)
            return { answer: { group: answer.group }, before: shown(before), after: shown(answer.group) };
          if (request.expectedRevision !== 0) throw changedMeanwhile('The group');
        }
      });
      return { ...changed, warnings: await warningsOf(changed.group, context) };
    },

    async deleteGroup({ groupId }, context) {
      const before = await byId(groupId, context);
      const change = { action: 'group.delete', subject: before.name, before: shown(before) };
      return await audit.change(context, change, async () => {
        const { group } = await groups.deleteGroup({ groupId }, peerCall(context.signal));
        if (group === undefined) throw notFound(`group ${groupId}`);
        return { answer: { group } };
      });
    },
  };
}

/** Groups with the state of their limits. Values that can't be read now are left out. */
async function groupListings({ peers, rules, logger }: AdminParts, groups: readonly Group[], signal: AbortSignal) {
  const nowMs = epochMs();
  const days = shownDaysUntil(nowMs);
  let fault: unknown;
  const orElse =
    <T>(instead: T) =>
    (thrown: unknown) => {
      signal.throwIfAborted();
      fault ??= thrown;
      return instead;
    };
  const listings: {
    group: Group;
    limits: LimitStatus | undefined;
    tokensByDay: number[];
    budgetEndsAtMs: number | undefined;
    namedBy: string[];
  }[] = [];
  await askForEach(groups.entries(), async ([index, group]) => {
    const [limits, tokensByDay] = await Promise.all([
      statusOf(peers, group, signal).catch(orElse(undefined)),
      tokensOn(days, peers, { groupId: group.groupId }, signal).catch(orElse([])),
    ]);
    const budgetEndsAtMs = budgetEndMs(limits, nowMs);
    const namedBy = rules?.names(group.name) ? ['OIDC_PEOPLE_GROUPS'] : [];
    listings[index] = { group, limits, tokensByDay, budgetEndsAtMs, namedBy };
  });
  if (fault !== undefined) logger.warn({ err: fault }, 'groups are listed without some of their details');
  return listings;
}

async function statusOf({ limiter }: AdminParts['peers'], group: Group, signal: AbortSignal) {
  if (group.limits === undefined) return undefined;
  return (await limiter.peek(limitedGroup(group), peerCall(signal))).status;
}

/**
 * When a budget is used up at the rate of its period so far. Undefined if it lasts, or has only
 * just begun.
 */
export function budgetEndMs(status: Pick<LimitStatus, 'budget'> | undefined, nowMs: number): number | undefined {
  if (status?.budget === undefined || status.budget.spentMicros === 0) return undefined;
  const { amountMicros, spentMicros, firstDay, resetsAtMs } = status.budget;
  if (spentMicros >= amountMicros) return nowMs;
  const startMs = startOfLocalDayMs(firstDay);
  const endMs = startMs + ((nowMs - startMs) * amountMicros) / spentMicros;
  return endMs < resetsAtMs ? Math.round(endMs) : undefined;
}

/** A listing with the bound of overspending that its settings have, and what they lack. */
function withBound<L extends { readonly group: Group }>(
  listing: L,
  file: GatewayFile | undefined,
  priced: PricedModels | undefined,
) {
  const { budget, concurrentRequests = requestsAtATimeOfBudget } = listing.group.limits ?? {};
  const costs = [...(file?.prices ?? []), ...(file?.specialPrices ?? [])].map(mostMicros);
  const dearest = Math.max(0, ...costs);
  return {
    ...listing,
    mayExceedMicros: budget === undefined ? 0 : concurrentRequests * dearest,
    ...(priced && budgetWarnings(listing.group, priced)),
  };
}

/** What one request can cost: a whole context at the dearest input rate, and the longest answer. */
function mostMicros({ contextTokens, above, ...price }: ModelPrice): number {
  const inputs = [price, ...(above === undefined ? [] : [above])].flatMap((rates) => [
    ...[rates.inputMicros, rates.cachedInputMicros, rates.cacheWrite5mMicros, rates.cacheWrite1hMicros],
  ]);
  const output = Math.max(price.outputMicros, above?.outputMicros ?? 0) * 128_000;
  return Math.floor((Math.max(...inputs) * (contextTokens || unknownContext) + output) / 1_000_000);
}

interface KnownPrices {
  readonly file?: GatewayFile | undefined;
  readonly priced?: PricedModels;
}

/** Empty if they are not known. */
async function pricesOf(parts: AdminParts, signal: AbortSignal): Promise<KnownPrices> {
  try {
    const { file } = await parts.peers.poolOperator.getGatewayFile({}, peerCall(signal));
    return file === undefined ? {} : { file, priced: await pricedModels(parts, file, signal) };
  } catch (thrown) {
    signal.throwIfAborted();
    parts.logger.warn({ err: thrown }, 'groups are listed without their prices');
    return {};
  }
}

/** The one group with this id, this name, or this beginning of an id. */
function meantGroup(groups: readonly Group[], wanted: string): Group {
  if (wanted === '') throw invalidFields({ group: 'Enter a name, an id, or the beginning of an id.' });
  const exact = groups.filter(({ groupId, name }) => groupId === wanted || name === wanted);
  const [one, another] = exact.length > 0 ? exact : groups.filter(({ groupId }) => groupId.startsWith(wanted));
  if (one === undefined) throw notFound(`group with the id or name ${wanted}`);
  if (another === undefined) return one;
  throw new ConnectError(`"${wanted}" matches several groups. Enter more of the id.`, Code.InvalidArgument);
}

type Details = Pick<GivenGroup, 'name' | 'note'> & {
  readonly limits?: CreateGroupRequest['limits'] | undefined;
  readonly access?: CreateGroupRequest['access'] | undefined;
};

function check({ name, note, limits, access }: Details): void {
  const given: GivenGroup = {
    ...{ name, note, access },
    limits: limits && {
      ...limits,
      budget: limits.budget && {
        amountMicros: limits.budget.amountMicros,
        period: periods[limits.budget.period],
      },
    },
  };
  checkSentences(groupProblems(given));
}

const periods: Readonly<Record<BudgetPeriod, 'day' | 'week' | 'month' | undefined>> = {
  [BudgetPeriod.UNSPECIFIED]: undefined,
  [BudgetPeriod.DAY]: 'day',
  [BudgetPeriod.WEEK]: 'week',
  [BudgetPeriod.MONTH]: 'month',
};

/** The group in the audit log. It contains no secret. */
function shown(group: Group | undefined): JsonObject | undefined {
  return group && readableJson(GroupSchema, group);
}
