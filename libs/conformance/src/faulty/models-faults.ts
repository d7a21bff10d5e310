import { faultsOf, swap } from './changes.ts';

export const modelsFaults = faultsOf('models', [
  { name: 'lists models without ids', foundBy: 'models-have-the-fields-of-a-model', json: swap('"id":', '"name":') },
  {
    name: 'lists models for everyone',
    foundBy: 'models-refuses-no-credentials',
    refuses: ({ headers }) => (headers.authorization ? undefined : { status: 200, body: '{"data":[]}' }),
  },
]);
