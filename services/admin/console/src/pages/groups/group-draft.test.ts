import { create } from '@bufbuild/protobuf';
import { GroupSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { describe, expect, it } from 'vitest';
import { emptyGroup, groupDifferences, groupDraftOf, groupOf, groupUpdateOf } from './group-draft.ts';

const budget = { amountMicros: 12_500_000, period: BudgetPeriod.WEEK };
const group = (init: object = {}) =>
  create(GroupSchema, {
    ...{ groupId: 'g', name: 'Team A', limits: { requestsPerMinute: 60, concurrentRequests: 5, budget } },
    access: { models: ['claude*', 'gateway/snel'], accountLabels: ['reserved'] },
    ...init,
  });

describe('a group in its form', () => {
  it.each([
    ['250', 250_000_000, '250'],
    ['12.5', 12_500_000, '12.50'],
    ['0.000001', 1, '0.000001'],
    ['0', 0, '0'],
    ['999999999.999999', 999_999_999_999_999, '999999999.999999'],
  ])('has a budget of %s as an exact number of millionths', (typed, amountMicros, shown) => {
    const { limits } = groupOf({ ...emptyGroup, budget: typed, budgetPeriod: 'day' });
    expect(limits?.budget).toMatchObject({ amountMicros, period: BudgetPeriod.DAY });
    expect(groupDraftOf(group({ limits })).budget).toBe(shown);
  });

  it('sends no unchanged field', () => {
    expect(groupUpdateOf(group(), groupDraftOf(group()))).toEqual({ groupId: 'g' });
  });

  it('sends its other limits with a changed one, as they are now', () => {
    const now = group({ limits: { requestsPerMinute: 90, budget } });
    const update = groupUpdateOf(group(), { ...groupDraftOf(group()), budget: '20' }, now);
    expect(update).toMatchObject({
      limits: { requestsPerMinute: 90, budget: { amountMicros: 20_000_000, period: BudgetPeriod.WEEK } },
    });
    expect(update.limits).not.toHaveProperty('concurrentRequests');
    expect(update).not.toHaveProperty('access');
  });

  it('removes a budget, and only that', () => {
    const { limits } = groupUpdateOf(group(), { ...groupDraftOf(group()), budget: '' });
    expect(limits).toMatchObject({ requestsPerMinute: 60, concurrentRequests: 5 });
    expect(limits).not.toHaveProperty('budget');
  });

  it('shows changes by another person', () => {
    const now = group({ limits: { requestsPerMinute: 60 }, access: undefined });
    expect(groupDifferences(group(), now)).toEqual([
      'Requests at a time: 5 → unlimited',
      'Models: claude* gateway/snel → all',
      'Accounts: reserved → all',
      'Budget: 12.50 per week → none',
    ]);
  });
});
