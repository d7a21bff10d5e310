import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampNow } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { type GroupListing, GroupListingSchema, type GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { type Group, GroupSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v1/limit_pb.js';
import { invalid } from './invalid.ts';

const day = 86_400_000;
const started = Date.now();

/** The id of the group that some of the made-up tokens belong to. */
export const platformGroup = '2b6a0f5e-93d4-4f6c-8a1e-d47c0b9e1f10';

const groups: Group[] = [
  create(GroupSchema, {
    ...{ groupId: platformGroup, name: 'Platform', note: 'Contract 2026-114', tokens: 1 },
    limits: {
      ...{ requestsPerMinute: 600, tokensPerDay: 50_000_000n, concurrentRequests: 40 },
      budget: { amountMicros: 250_000_000n, period: BudgetPeriod.MONTH },
    },
    access: { models: ['claude*', 'gateway/snel'], accountLabels: ['reserved'] },
    createdAt: timestampFromMs(started - 40 * day),
  }),
  create(GroupSchema, {
    ...{ groupId: '6e1c9d37-05ab-4c2f-b8d4-7a90e3f51c22', name: 'Trial partners' },
    limits: { budget: { amountMicros: 5_000_000n, period: BudgetPeriod.WEEK } },
    createdAt: timestampFromMs(started - 3 * day),
  }),
];

/** "taken" is a name that is refused. */
export const groupService: Partial<ServiceImpl<typeof GroupService>> = {
  listGroups: () => ({ groups: groups.map(listing), currency: 'EUR' }),
  getGroup: ({ group }) => ({ group: listing(groupOf(group)), currency: 'EUR' }),
  createGroup(request) {
    if (request.name === 'taken') throw invalid({ name: 'A group with the name taken exists already.' });
    const { $typeName: _, ...details } = request;
    const group = create(GroupSchema, { ...details, groupId: crypto.randomUUID(), createdAt: timestampNow() });
    groups.push(group);
    return { group };
  },
  updateGroup({ groupId, name, note, limits, access }) {
    const changed = groupOf(groupId);
    if (name !== undefined) changed.name = name;
    if (note !== undefined) changed.note = note;
    if (limits !== undefined) changed.limits = limits;
    if (access !== undefined) changed.access = access;
    changed.revision += 1n;
    return { group: changed };
  },
  deleteGroup({ groupId }) {
    const group = groupOf(groupId);
    groups.splice(groups.indexOf(group), 1);
    return { group };
  },
};

export function groupName(groupId: string): string {
  return groups.find((group) => group.groupId === groupId)?.name ?? '';
}

function groupOf(asked: string): Group {
  const found = groups.find(({ groupId, name }) => groupId === asked || name === asked);
  if (found === undefined) throw new ConnectError(`There is no group ${asked}.`, Code.NotFound);
  return found;
}

/** The first group has spent most of its budget, the others nothing. */
function listing(group: Group): GroupListing {
  const { requestsPerMinute, tokensPerDay, concurrentRequests, budget } = group.limits ?? {};
  const isBusy = group.groupId === platformGroup;
  return create(GroupListingSchema, {
    group: structuredClone(group),
    tokensByDay: Array.from({ length: 14 }, (_, index) => (isBusy ? BigInt(900_000 + 40_000 * index) : 0n)),
    budgetEndsAt: isBusy ? timestampFromMs(started + 2 * day) : undefined,
    limits: {
      requests:
        requestsPerMinute === undefined ? undefined : { limit: requestsPerMinute, remaining: requestsPerMinute },
      tokens: tokensPerDay === undefined ? undefined : { limit: tokensPerDay, remaining: (tokensPerDay * 3n) / 4n },
      concurrency:
        concurrentRequests === undefined ? undefined : { limit: concurrentRequests, running: isBusy ? 7 : 0 },
      budget: budget && {
        amountMicros: budget.amountMicros,
        spentMicros: isBusy ? (budget.amountMicros * 87n) / 100n : 0n,
        reservedMicros: isBusy ? 1_250_000n : 0n,
        firstDay: budget.period === BudgetPeriod.MONTH ? '2026-11-01' : '2026-11-16',
        resetsAt: timestampFromMs(Date.parse(budget.period === BudgetPeriod.MONTH ? '2026-12-01' : '2026-11-23')),
      },
    },
  });
}
