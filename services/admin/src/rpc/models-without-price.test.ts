import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { PriceBook } from '@gateway/prices';
import { GroupSchema, UnpricedModels } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { ModelSchema } from '@gateway/proto/pool/v1/model_pb.js';
import { PriceListSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { budgetWarnings, modelsWithoutPrice, type PricedModels } from './models-without-price.ts';

const localDay = '2026-11-24';
const priced = worldOf(
  { a: 10_000_000, 'b*': 40_000_000 },
  {
    ...{ 'gateway/mixed': { ownedBy: 'gateway', candidates: ['a', 'new'] }, a: {}, b1: { servedBy: [['eu']] } },
    ...{ new: {}, other: { servedBy: [['eu']] } },
  },
);
const unpricedWorld = { ...priced, prices: new PriceBook() };
const budget = (amountMicros: number) => ({ limits: { budget: { amountMicros, period: BudgetPeriod.DAY } } });
const plenty = budget(1_000_000_000);

describe('models without a price', () => {
  it('are those that pools offer or classes name, each once', () => {
    expect(modelsWithoutPrice({ ...priced, named: ['a', 'away'] }, [])).toEqual(['new', 'other', 'away']);
  });

  it('are not told where there are neither prices nor budgets', () => {
    expect(modelsWithoutPrice(unpricedWorld, [group({})])).toEqual([]);
    expect(modelsWithoutPrice(unpricedWorld, [group(plenty)])).toEqual(['a', 'new', 'b1', 'other']);
  });

  it('have a price only from its day on', () => {
    const prices = new PriceBook(
      create(PriceListSchema, { currency: 'EUR', prices: [{ model: '*', fromDay: '2026-11-25' }] }),
    );
    expect(modelsWithoutPrice({ ...priced, prices }, [])).toHaveLength(4);
    expect(modelsWithoutPrice({ ...priced, prices, localDay: '2026-11-25' }, [])).toEqual([]);
  });
});

describe('the warnings of a group with a budget', () => {
  it('name the models that its tokens may use and that have no price, and what happens to them', () => {
    expect(budgetWarnings(group(plenty), priced)).toEqual({
      modelsWithoutPrice: ['new', 'other'],
      warnings: ['2 models have no price, and are refused: new, other.'],
    });
    const dearest = { ...plenty, unpricedModels: UnpricedModels.DEAREST };
    expect(budgetWarnings(group(dearest), priced).warnings).toEqual([
      '2 models have no price, and cost as much as the dearest of the same pool: new, other.',
    ]);
  });

  it.each([
    ['models', { models: ['b1', 'o*'] }, ['other']],
    ['a class, which stands for its candidates', { models: ['gateway/*'] }, ['new']],
    ['labels of accounts', { accountLabels: ['eu'] }, ['other']],
    ['models that all have a price', { models: ['a'] }, []],
  ])('respect its rules: %s', (_, access, expected) => {
    expect(budgetWarnings(group({ ...plenty, access }), priced).modelsWithoutPrice).toEqual(expected);
  });

  it('say that without prices everything is refused', () => {
    expect(budgetWarnings(group(plenty), unpricedWorld).warnings).toEqual([
      'gateway.yaml has no prices, so the budget refuses every request.',
    ]);
  });

  it('name a model of which one request usually reserves more than the budget', () => {
    const access = { models: ['a', 'b*'] };
    expect(budgetWarnings(group({ ...budget(10_000), access }), priced).warnings).toEqual([
      'The budget of 0.01 EUR is smaller than what one request of b1 usually reserves (0.1638 EUR): such a request runs only while no other does.',
    ]);
    expect(budgetWarnings(group({ ...budget(163_840), access }), priced).warnings).toEqual([]);
  });

  it('price a model without a price as the dearest only if the group does', () => {
    const given = { ...budget(10_000), access: { models: ['new'] } };
    expect(budgetWarnings(group(given), priced).warnings).toEqual(['1 model has no price, and is refused: new.']);
    const dearest = group({ ...given, unpricedModels: UnpricedModels.DEAREST });
    expect(budgetWarnings(dearest, priced).warnings[1]).toMatch(/one request of new usually reserves \(0\.1638 EUR\)/);
  });

  it('are none without a budget, and none about a small budget that is zero', () => {
    expect(budgetWarnings(group({}), priced)).toEqual({ modelsWithoutPrice: [], warnings: [] });
    expect(budgetWarnings(group({ ...budget(0), access: { models: ['a'] } }), priced).warnings).toEqual([]);
  });

  it('list exactly the models without a price, and name a few of many', () => {
    const ids = fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/), { maxLength: 30 });
    fc.assert(
      fc.property(ids, ids, (offered, withPrice) => {
        const rates = Object.fromEntries(withPrice.map((id) => [id, 1]));
        const world = worldOf({ ...rates, 'x/never': 1 }, Object.fromEntries(offered.map((id) => [id, {}])));
        const { modelsWithoutPrice: listed, warnings } = budgetWarnings(group(plenty), world);
        expect(new Set(listed)).toEqual(new Set(offered).difference(new Set(withPrice)));
        expect(warnings).toHaveLength(listed.length === 0 ? 0 : 1);
        if (listed.length > 10) expect(warnings[0]).toMatch(new RegExp(` and ${listed.length - 10} more\\.$`));
      }),
    );
  });
});

interface Offered {
  readonly ownedBy?: string;
  readonly candidates?: string[];
  readonly servedBy?: string[][];
}

/** @param rates what a million output tokens cost, by pattern */
function worldOf(rates: Readonly<Record<string, number>>, models: Readonly<Record<string, Offered>>): PricedModels {
  const prices = Object.entries(rates).map(([model, outputMicros]) => ({ model, outputMicros }));
  return {
    ...{ localDay, named: [], prices: new PriceBook(create(PriceListSchema, { currency: 'EUR', prices })) },
    models: Object.entries(models).map(([id, { ownedBy = 'p', candidates = [id], servedBy = [[]] }]) =>
      create(ModelSchema, { id, ownedBy, candidates, servedBy: servedBy.map((labels) => ({ labels })) }),
    ),
  };
}

function group(details: MessageInitShape<typeof GroupSchema>) {
  return create(GroupSchema, details);
}
