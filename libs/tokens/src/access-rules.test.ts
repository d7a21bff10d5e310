import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { describe, expect, it } from 'vitest';
import { labelSetsOf, mayUseModel, modelsFor } from './access-rules.ts';

const tokenWith = (fields: MessageInitShape<typeof TokenSchema>) => create(TokenSchema, fields);
const model = (id: string, servedBy: string[][] = [[]]) => ({
  id,
  servedBy: servedBy.map((labels) => ({ $typeName: 'gateway.pool.v1.LabelSet' as const, labels })),
});

describe('the rules of a token and its group', () => {
  it('allow everything when there are none', () => {
    for (const token of [tokenWith({}), tokenWith({ access: {}, group: { access: {} } })]) {
      expect(mayUseModel(token, 'anything')).toBe(true);
      expect(labelSetsOf(token)).toEqual([]);
      expect(modelsFor(token, [model('a')])).toHaveLength(1);
    }
  });

  it('both have to allow a model, by its id as clients write it', () => {
    const access = { models: ['gateway/*', 'claude-sonnet-5'] };
    const token = tokenWith({ access, group: { access: { models: ['gateway/sterk', 'claude-*'] } } });
    const allowed = ['gateway/sterk', 'gateway/snel', 'claude-sonnet-5', 'claude-haiku-4-5', 'gpt-5.5'].filter((id) =>
      mayUseModel(token, id),
    );
    expect(allowed).toEqual(['gateway/sterk', 'claude-sonnet-5']);
  });

  it('each restrict the accounts', () => {
    const token = tokenWith({ access: { accountLabels: ['eu'] }, group: { access: { accountLabels: ['a', 'b'] } } });
    expect(labelSetsOf(token)).toEqual([{ labels: ['eu'] }, { labels: ['a', 'b'] }]);
  });

  it('hide a model that no allowed account serves', () => {
    const token = tokenWith({ access: { accountLabels: ['eu'] }, group: { access: { models: ['m*'] } } });
    const models = [model('m1', [[], ['eu', 'x']]), model('m2', [[], ['us']]), model('n', [['eu']]), model('m3', [])];
    expect(modelsFor(token, models).map(({ id }) => id)).toEqual(['m1']);
  });
});
