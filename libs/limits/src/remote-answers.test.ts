import { create } from '@bufbuild/protobuf';
import { BudgetPeriod, CostKind, LimitStatusSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import { describe, expect, it } from 'vitest';
import type { Decision } from './decide.ts';
import type { Check } from './limited-key.ts';
import { slotsIn, totalsAfter, totalsIn } from './remote-answers.ts';
import { budgetSpan, daySpan } from './span.ts';

const localDay = '2026-11-20';
const budget = { amountMicros: 100, period: BudgetPeriod.WEEK };
const week = budgetSpan(BudgetPeriod.WEEK, localDay);
const check = (more: Partial<Check>): Check => ({
  key: 'k',
  requestId: 'r',
  costKind: CostKind.REQUEST_AND_TOKENS,
  ...more,
});
const group = { key: 'g', limits: { requestsPerMinute: 9, concurrentRequests: 5, tokensPerDay: 50, budget } };
const decision: Decision = {
  status: create(LimitStatusSchema, { localDay, requests: { limit: 2 }, tokens: { limit: 100, remaining: 60 } }),
  groupStatus: create(LimitStatusSchema, {
    localDay,
    requests: { limit: 9 },
    tokens: { limit: 50, remaining: 20 },
    budget: { ...budget, spentMicros: 70, reservedMicros: 5 },
  }),
};

describe('what a replica learns from an answer', () => {
  it('is how much of the day and of the budget is used, of the key and of its group', () => {
    expect(totalsIn(check({ limits: { tokensPerDay: 100 }, group }), decision)).toEqual([
      { counter: { key: 'k', groupKey: 'g', span: daySpan(localDay) }, total: 40 },
      { counter: { key: 'g', groupKey: undefined, span: daySpan(localDay) }, total: 30 },
      { counter: { key: 'g', groupKey: undefined, span: week }, total: 70 },
    ]);
    const { status } = decision;
    expect(totalsIn(check({ limits: { tokensPerDay: 100 } }), { status })).toEqual([
      { counter: { key: 'k', groupKey: undefined, span: daySpan(localDay) }, total: 40 },
    ]);
  });

  it('is nothing of a group whose state the answer lacks, nor of limits that are not set', () => {
    expect(totalsIn(check({ limits: {}, group }), { status: create(LimitStatusSchema, { localDay }) })).toEqual([]);
    const withBudget = create(LimitStatusSchema, { localDay, budget: { spentMicros: 7 } });
    expect(totalsIn(check({ limits: {} }), { status: withBudget })).toEqual([]);
    expect(totalsIn(check({}), { status: withBudget })).toEqual([]);
    expect(totalsIn(check({ limits: { budget } }), { status: withBudget })).toMatchObject([{ total: 7 }]);
  });

  it('is nothing from an answer without any state', () => {
    const limits = { tokensPerDay: 100, requestsPerMinute: 2 };
    expect([totalsIn(check({ limits, group }), {}), slotsIn(check({ limits, group }), {})]).toEqual([[], []]);
  });

  it('is which slots the request took', () => {
    const slot = { requestId: 'r', ageMs: 0 };
    expect(slotsIn(check({ limits: { requestsPerMinute: 2 }, group }), decision)).toEqual([
      { key: 'k', groupKey: 'g', ...slot },
      { key: 'g', groupKey: undefined, ...slot },
    ]);
    const status = create(LimitStatusSchema, { localDay });
    expect(slotsIn(check({ group }), { ...decision, status })).toEqual([{ key: 'g', groupKey: undefined, ...slot }]);
    expect(slotsIn(check({}), { status })).toEqual([]);
  });
});

describe('what a replica learns from a settle', () => {
  const settlement = { key: 'k', requestId: 'r', localDay, tokens: 3 };
  const ofKey = { counter: { key: 'k', groupKey: undefined, span: daySpan(localDay) }, total: 11 };

  it('is the total of the key, once it includes the ledger', () => {
    expect(totalsAfter(settlement, { usedTokens: 11, isLoaded: true })).toEqual([ofKey]);
    expect(totalsAfter(settlement, { usedTokens: 11, isLoaded: false })).toEqual([]);
  });

  it('is nothing of a key whose tokens are not counted', () => {
    const counted = { ...settlement, limits: { tokensPerDay: 5 } };
    expect(totalsAfter(counted, { usedTokens: 11, isLoaded: true })).toEqual([ofKey]);
    expect(totalsAfter({ ...settlement, limits: {} }, { usedTokens: 11, isLoaded: true })).toEqual([]);
  });

  it('is the day and the budget of the group, where it has them', () => {
    const totals = { usedTokens: 11, isLoaded: false, groupUsedTokens: 20, groupSpentMicros: 30 };
    expect(totalsAfter({ ...settlement, group }, totals)).toEqual([
      { counter: { key: 'g', span: daySpan(localDay) }, total: 20 },
      { counter: { key: 'g', span: week }, total: 30 },
    ]);
    for (const without of [{ key: 'g', limits: {} }, { key: 'g' }, undefined])
      expect(totalsAfter({ ...settlement, group: without }, totals)).toEqual([]);
    expect(totalsAfter({ ...settlement, group }, { usedTokens: 11, isLoaded: false })).toEqual([]);
    expect(totalsAfter({ ...settlement, group }, { ...totals, isLoaded: true })[0]).toMatchObject({
      counter: { key: 'k', groupKey: 'g' },
      total: 11,
    });
  });
});
