import type { MessageInitShape } from '@bufbuild/protobuf';
import type { CreateGroupRequestSchema, UpdateGroupRequestSchema } from '@gateway/proto/admin/v1/group_service_pb.js';
import { type Group, UnpricedModels } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { type Budget, BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import {
  accessOf,
  changedFields,
  editsOn,
  isEdited,
  limitNames,
  limitsOf,
  type TermsDraft,
  termsDraftOf,
  termsFieldNames,
  termsRows,
} from '../tokens/terms-draft.ts';

/** The typed fields of a group. */
export interface GroupDraft extends TermsDraft {
  readonly name: string;
  readonly note: string;
  /** "250" or "12.50". Empty: no budget. */
  readonly budget: string;
  readonly budgetPeriod: keyof typeof periods;
  readonly unpricedModels: 'refuse' | 'dearest';
}

/** Names of these fields in the problems of a request. */
export const groupFieldNames = ['name', 'note', ...termsFieldNames, 'limits.budget.amount', 'limits.budget.period'];

/** What the budget's field takes: nine digits and millionths. */
export const amountPattern = '\\d{1,9}(\\.\\d{1,6})?';

const periods = { day: BudgetPeriod.DAY, week: BudgetPeriod.WEEK, month: BudgetPeriod.MONTH };

export const emptyGroup: GroupDraft = {
  name: '',
  note: '',
  ...termsDraftOf({}),
  budget: '',
  budgetPeriod: 'month',
  unpricedModels: 'refuse',
};

export function groupDraftOf(group: Group): GroupDraft {
  const budget = group.limits?.budget;
  return {
    name: group.name,
    note: group.note,
    ...termsDraftOf(group),
    budget: budget === undefined ? '' : amountText(budget.amountMicros),
    budgetPeriod: periodName(budget) ?? 'month',
    unpricedModels: group.unpricedModels === UnpricedModels.DEAREST ? 'dearest' : 'refuse',
  };
}

export function groupOf(draft: GroupDraft): MessageInitShape<typeof CreateGroupRequestSchema> {
  const { name, note } = draft;
  const unpricedModels = draft.unpricedModels === 'dearest' ? UnpricedModels.DEAREST : UnpricedModels.REFUSE;
  return { name, note, limits: limitsOf(draft, budgetOf(draft)), access: accessOf(draft), unpricedModels };
}

/** As `updateOf` a token: contains only changed fields. */
export function groupUpdateOf(
  seen: Group,
  draft: GroupDraft,
  now: Group = seen,
): MessageInitShape<typeof UpdateGroupRequestSchema> {
  const before = groupDraftOf(seen);
  const { limits, access, unpricedModels } = groupOf(editsOn(before, draft, groupDraftOf(now)));
  const edited = (...names: readonly (keyof GroupDraft)[]) => isEdited(before, draft, names);
  return {
    groupId: seen.groupId,
    ...(edited('name') && { name: draft.name }),
    ...(edited('note') && { note: draft.note }),
    ...(edited(...limitNames, 'budget', 'budgetPeriod') && { limits }),
    ...(edited('models', 'accountLabels') && { access }),
    ...(edited('unpricedModels') && unpricedModels !== undefined && { unpricedModels }),
  };
}

/** The changes by another person, one line for each field. */
export function groupDifferences(seen: Group, now: Group): readonly string[] {
  return changedFields(seen, now, [
    ['Name', ({ name }) => name],
    ...termsRows,
    ['Budget', ({ limits }) => budgetText(limits?.budget)],
    [
      'Models without a price',
      ({ unpricedModels }) => (unpricedModels === UnpricedModels.DEAREST ? 'dearest' : 'refuse'),
    ],
    ['Note', ({ note }) => note || 'none'],
  ]);
}

/** "per month" */
export function perPeriod(budget: Pick<Budget, 'period'> | undefined): string {
  const name = periodName(budget);
  return name === undefined ? '' : `per ${name}`;
}

function budgetText(budget: Budget | undefined): string {
  return budget === undefined ? 'none' : `${amountText(budget.amountMicros)} ${perPeriod(budget)}`;
}

function periodName(budget: Pick<Budget, 'period'> | undefined): GroupDraft['budgetPeriod'] | undefined {
  return (['day', 'week', 'month'] as const).find((name) => periods[name] === budget?.period);
}

function budgetOf({ budget, budgetPeriod }: GroupDraft) {
  if (budget === '') return undefined;
  const [whole = '', fraction = ''] = budget.split('.');
  return { amountMicros: Number(whole + fraction.padEnd(6, '0')), period: periods[budgetPeriod] };
}

function amountText(micros: number): string {
  const digits = micros.toString().padStart(7, '0');
  const [whole, fraction] = [digits.slice(0, -6), digits.slice(-6)];
  if (fraction === '000000') return whole;
  return `${whole}.${fraction.endsWith('0000') ? fraction.slice(0, 2) : fraction}`;
}
