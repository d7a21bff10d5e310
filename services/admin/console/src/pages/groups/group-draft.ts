import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { CreateGroupRequestSchema, UpdateGroupRequestSchema } from '@gateway/proto/admin/v1/group_service_pb.js';
import { type AccessRules, AccessRulesSchema, type Group } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod, type Limits, LimitsSchema } from '@gateway/proto/limiter/v1/limit_pb.js';

/** The typed fields of a group. Empty limits are none. */
export interface GroupDraft {
  readonly name: string;
  readonly requestsPerMinute: string;
  readonly tokensPerDay: string;
  readonly concurrentRequests: string;
  /** "250" or "12.50" */
  readonly budget: string;
  readonly period: 'day' | 'week' | 'month';
  /** Patterns and labels, separated by commas. */
  readonly models: string;
  readonly accountLabels: string;
  readonly note: string;
}

/** Names of these fields in the problems of a request. */
export const groupFieldNames = [
  ...['name', 'note', 'limits.requestsPerMinute', 'limits.tokensPerDay', 'limits.concurrentRequests'],
  ...['limits.budget.amount', 'limits.budget.period', 'access.models', 'access.accountLabels'],
];

export const emptyGroup: GroupDraft = {
  ...{ name: '', requestsPerMinute: '', tokensPerDay: '', concurrentRequests: '', budget: '', period: 'month' },
  ...{ models: '', accountLabels: '', note: '' },
};

export function draftOf({ name, limits, access, note }: Group): GroupDraft {
  return {
    name,
    requestsPerMinute: limits?.requestsPerMinute?.toString() ?? '',
    tokensPerDay: limits?.tokensPerDay?.toString() ?? '',
    concurrentRequests: limits?.concurrentRequests?.toString() ?? '',
    budget: limits?.budget === undefined ? '' : amountText(limits.budget.amountMicros),
    period: periodName(limits?.budget?.period),
    models: access?.models.join(', ') ?? '',
    accountLabels: access?.accountLabels.join(', ') ?? '',
    note,
  };
}

export function newGroupOf(draft: GroupDraft): MessageInitShape<typeof CreateGroupRequestSchema> {
  return { name: draft.name, note: draft.note, limits: limitsOf(draft), access: accessOf(draft) };
}

/**
 * Contains only changed details, so that changes by others stay. @param seen the group as the
 * operator saw it at the beginning.
 */
export function updateOf(seen: Group, draft: GroupDraft): MessageInitShape<typeof UpdateGroupRequestSchema> {
  const before = draftOf(seen);
  const differs = (...names: readonly (keyof GroupDraft)[]) => names.some((name) => draft[name] !== before[name]);
  return {
    groupId: seen.groupId,
    ...(differs('name') && { name: draft.name }),
    ...(differs('note') && { note: draft.note }),
    ...(differs('requestsPerMinute', 'tokensPerDay', 'concurrentRequests', 'budget', 'period') && {
      limits: limitsOf(draft),
    }),
    ...(differs('models', 'accountLabels') && { access: accessOf(draft) }),
  };
}

function periodName(period: BudgetPeriod = BudgetPeriod.MONTH): GroupDraft['period'] {
  if (period === BudgetPeriod.DAY) return 'day';
  return period === BudgetPeriod.WEEK ? 'week' : 'month';
}

/** The parts of a list that is separated by commas. */
export function partsOf(list: string): string[] {
  return list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function limitsOf(draft: GroupDraft): Limits {
  const { requestsPerMinute, tokensPerDay, concurrentRequests, budget, period } = draft;
  return create(LimitsSchema, {
    requestsPerMinute: requestsPerMinute === '' ? undefined : Number(requestsPerMinute),
    tokensPerDay: tokensPerDay === '' ? undefined : BigInt(tokensPerDay),
    concurrentRequests: concurrentRequests === '' ? undefined : Number(concurrentRequests),
    budget: budget === '' ? undefined : { amountMicros: microsOf(budget), period: periods[period] },
  });
}

function accessOf({ models, accountLabels }: GroupDraft): AccessRules {
  return create(AccessRulesSchema, { models: partsOf(models), accountLabels: partsOf(accountLabels) });
}

const periods = { day: BudgetPeriod.DAY, week: BudgetPeriod.WEEK, month: BudgetPeriod.MONTH };

/** Exact, unlike a number. The field accepts six digits after the point. */
function microsOf(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  return BigInt(whole || 0) * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

function amountText(micros: bigint): string {
  const [whole, fraction] = [micros / 1_000_000n, `${micros % 1_000_000n}`.padStart(6, '0')];
  if (fraction === '000000') return `${whole}`;
  return fraction.endsWith('0000') ? `${whole}.${fraction.slice(0, 2)}` : `${whole}.${fraction}`;
}
