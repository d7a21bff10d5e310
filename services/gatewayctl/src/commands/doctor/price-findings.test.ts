import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { GroupListingSchema, ListGroupsResponseSchema } from '@gateway/proto/admin/v1/group_service_pb.js';
import { UnpricedModels } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { describe, expect, it } from 'vitest';
import { priceFindings } from './price-findings.ts';

const remedy = 'Add their prices to gateway.yaml.';
const about = 'prices';

describe('what doctor says of prices', () => {
  it('is nothing where there are neither prices nor budgets', () => {
    expect(findingsOf({ groups: [listing('A', { budgeted: false })] })).toEqual([]);
  });

  it('is nothing while the prices are unknown', () => {
    expect(findingsOf({ groups: [listing('A')] })).toEqual([]);
  });

  it('is fine if every model has a price', () => {
    const [finding] = findingsOf({ currency: 'EUR', groups: [listing('A')] });
    expect(finding).toMatchObject({ about, state: 'fine', text: 'every model has a price today' });
  });

  it('fails nothing if no group has a budget', () => {
    const known = { currency: 'EUR', modelsWithoutPrice: ['x'], groups: [listing('A', { budgeted: false })] };
    const text = 'models without a price, whose usage has no cost: x';
    expect(findingsOf(known)).toEqual([{ about, state: 'note', text, remedy }]);
  });

  it('is a warning about models that budgets refuse, and a note about those priced as the dearest', () => {
    const groups = [
      listing('A', { without: ['x', 'y'] }),
      listing('B', { without: ['y', 'z'] }),
      listing('C', { without: ['x'], unpricedModels: UnpricedModels.DEAREST }),
      listing('D'),
    ];
    expect(findingsOf({ currency: 'EUR', modelsWithoutPrice: ['x', 'y', 'z'], groups })).toEqual([
      { about, state: 'warning', text: 'models without a price in the groups A, B, refused: x, y, z', remedy },
      {
        ...{ about, state: 'note', remedy },
        text: 'models without a price in the group C, priced as the dearest of their pool: x',
      },
    ]);
  });

  it('is a warning about all requests if nothing has a price', () => {
    const known = { modelsWithoutPrice: ['x'], groups: [listing('A', { without: ['x'] })] };
    const text = 'there are no prices, so the budget refuses every request of the group A';
    expect(findingsOf(known)).toEqual([{ about, state: 'warning', text, remedy }]);
  });

  it('names ten of many', () => {
    const without = Array.from({ length: 12 }, (_, index) => `m${index}`);
    const [finding] = findingsOf({ currency: 'EUR', groups: [listing('A', { without })] });
    expect(finding?.text).toMatch(/m8, m9 and 2 more$/);
  });
});

interface Given {
  readonly budgeted?: boolean;
  readonly without?: string[];
  readonly unpricedModels?: UnpricedModels;
}

function listing(name: string, { budgeted = true, without = [], unpricedModels = UnpricedModels.REFUSE }: Given = {}) {
  const limits = budgeted ? { budget: { amountMicros: 1 } } : {};
  return create(GroupListingSchema, { group: { name, limits, unpricedModels }, modelsWithoutPrice: without });
}

function findingsOf(known: MessageInitShape<typeof ListGroupsResponseSchema>) {
  return priceFindings(create(ListGroupsResponseSchema, known));
}
