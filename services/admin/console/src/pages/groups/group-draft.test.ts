import { create } from '@bufbuild/protobuf';
import { type Group, GroupSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v1/limit_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { draftOf, emptyGroup, newGroupOf, updateOf } from './group-draft.ts';

const group = create(GroupSchema, {
  ...{ groupId: 'g', name: 'Team A', note: 'of ops' },
  limits: { requestsPerMinute: 60, budget: { amountMicros: 12_500_000n, period: BudgetPeriod.WEEK } },
  access: { models: ['claude*', 'gateway/snel'], accountLabels: ['reserved'] },
});

describe('the form of a group', () => {
  it('shows what the group has, and changes nothing when nothing is edited', () => {
    expect(draftOf(group)).toMatchObject({ budget: '12.50', period: 'week', models: 'claude*, gateway/snel' });
    expect(updateOf(group, draftOf(group))).toEqual({ groupId: 'g' });
  });

  it('keeps the other limits when one is changed, and the rules', () => {
    const update = updateOf(group, { ...draftOf(group), concurrentRequests: '5' });
    const { requestsPerMinute, budget } = group.limits ?? {};
    expect(update.limits).toMatchObject({ requestsPerMinute, budget, concurrentRequests: 5 });
    expect(update).not.toHaveProperty('access');
  });

  it('keeps the labels when the models are changed', () => {
    const { access, limits } = updateOf(group, { ...draftOf(group), models: ' gpt-5* ,' });
    expect(access).toMatchObject({ models: ['gpt-5*'], accountLabels: ['reserved'] });
    expect(limits).toBeUndefined();
  });

  it('removes a limit whose field is empty', () => {
    const { limits } = updateOf(group, { ...draftOf(group), budget: '' });
    expect(limits?.budget).toBeUndefined();
    expect(limits?.requestsPerMinute).toBe(60);
  });

  it('takes amounts to the millionth, whatever their size', () => {
    const micros = fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) });
    fc.assert(
      fc.property(micros, (amountMicros) => {
        const limits = { budget: { amountMicros, period: BudgetPeriod.DAY } };
        const { budget } = draftOf(create(GroupSchema, { limits }));
        const made = newGroupOf({ ...emptyGroup, budget }) as Pick<Group, 'limits'>;
        expect(made.limits?.budget?.amountMicros).toBe(amountMicros);
      }),
    );
  });
});
