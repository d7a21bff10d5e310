import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { type GroupListing, GroupListingSchema, type GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { type Group, GroupSchema, UnpricedModels } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { localDayOf } from '../../src/ui/time.tsx';
import { invalid } from './invalid.ts';
import { tokens } from './tokens.ts';

const dayMs = 86_400_000;
const started = Date.now();

const groups: Group[] = [
  group('platform', 'Platform', {
    note: 'Builds and batches; ask #platform',
    limits: {
      ...{ requestsPerMinute: 600, tokensPerDay: 50_000_000, concurrentRequests: 50, strictTokens: true },
      budget: { amountMicros: 250_000_000, period: BudgetPeriod.MONTH },
    },
    access: { models: ['claude*', 'gateway/snel'], accountLabels: ['reserved'] },
  }),
  group('research', 'Research', {}),
  group('support', 'Support', { limits: { budget: { amountMicros: 40_000_000, period: BudgetPeriod.WEEK } } }),
];

/** What each group has spent, as a share of its budget. */
const spent: Readonly<Record<string, number>> = { platform: 214_400_000, support: 40_120_000 };

/** "taken" is a name that is refused. */
export const groupService: Partial<ServiceImpl<typeof GroupService>> = {
  listGroups: () => ({ groups: groupListings(), currency: 'EUR' }),
  getGroup: ({ group: asked }) => ({ group: listing(groupOf(asked)), currency: 'EUR' }),
  createGroup({ $typeName: _, ...details }) {
    if (details.name === 'taken') throw invalid({ name: 'A group with the name taken exists already.' });
    const created = group(crypto.randomUUID(), details.name, details);
    groups.push(created);
    return { group: created };
  },
  updateGroup({ groupId, name, note, limits, access, unpricedModels }) {
    const changed = groupOf(groupId);
    if (name !== undefined) changed.name = name;
    if (note !== undefined) changed.note = note;
    if (limits !== undefined) changed.limits = limits;
    if (access !== undefined) changed.access = access;
    if (unpricedModels !== UnpricedModels.UNSPECIFIED) changed.unpricedModels = unpricedModels;
    changed.revision += 1;
    return { group: changed };
  },
  deleteGroup({ groupId }) {
    const [deleted] = groups.splice(groups.indexOf(groupOf(groupId)), 1);
    for (const token of tokens) if (token.groupId === groupId) token.groupId = '';
    return deleted === undefined ? {} : { group: deleted };
  },
};

const unpriced = '1 model has no price, and is refused: gpt-5.7-preview.';

export function groupListings(): GroupListing[] {
  return groups.map(listing);
}

function groupOf(groupId: string): Group {
  const found = groups.find((each) => each.groupId === groupId);
  if (found === undefined) throw new ConnectError('There is no such group.', Code.NotFound);
  return found;
}

function group(groupId: string, name: string, details: MessageInitShape<typeof GroupSchema>): Group {
  return create(GroupSchema, { createdAtMs: started - 60 * dayMs, ...details, groupId, name });
}

function listing(each: Group): GroupListing {
  const { groupId, limits } = each;
  const { requestsPerMinute, tokensPerDay, concurrentRequests, budget } = limits ?? {};
  const spentMicros = spent[groupId] ?? 0;
  const left = spentMicros < (budget?.amountMicros ?? 0) && spentMicros > 0;
  return create(GroupListingSchema, {
    ...(budget !== undefined && { modelsWithoutPrice: ['gpt-5.7-preview'], warnings: [unpriced] }),
    group: { ...structuredClone(each), tokens: tokens.filter((token) => token.groupId === groupId).length },
    tokensByDay: Array.from({ length: 14 }, (_, index) => ((groupId.length * (index + 3)) % 11) * 210_000),
    ...(left && { budgetEndsAtMs: started + 3.2 * dayMs }),
    limits: {
      ...(requestsPerMinute !== undefined && { requests: { limit: requestsPerMinute, remaining: 412 } }),
      ...(tokensPerDay !== undefined && { tokens: { limit: tokensPerDay, remaining: tokensPerDay / 3 } }),
      ...(concurrentRequests !== undefined && { concurrency: { limit: concurrentRequests, running: 7 } }),
      ...(budget !== undefined && {
        budget: {
          ...{ amountMicros: budget.amountMicros, spentMicros, reservedMicros: left ? 310_000 : 0 },
          ...{ firstDay: localDayOf(started - 10 * dayMs), resetsAtMs: started + 9 * dayMs },
        },
      }),
    },
  });
}
