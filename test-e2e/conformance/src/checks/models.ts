import type { Scene } from '../check.ts';
import { Found } from '../formats/found.ts';
import { must } from '../verdict.ts';
import { mustBeInSeconds } from './answers.ts';
import { mustAnswerWith, mustBeError, mustHaveStatus } from './errors.ts';
import type { Rule } from './rules.ts';
import { sources } from './sources.ts';

const source = sources.models;

/** The list of models. */
export const models: readonly Rule[] = [
  {
    name: 'models-is-a-list',
    rule: 'The answer has `object` `list` and a non-empty list `data`.',
    source,
    async run(scene) {
      const answer = await list(scene);
      answer.at('object').is('list');
      must(answer.at('data').list.length > 0, 'data should have models; it is empty');
    },
  },
  {
    name: 'models-have-the-fields-of-a-model',
    rule: 'Each model has `object` `model`, a unique `id`, `created` in seconds and `owned_by`.',
    source,
    async run(scene) {
      for (const model of (await list(scene)).at('data').list) {
        model.at('object').is('model');
        mustBeInSeconds(model.at('created'));
        void model.at('owned_by').name;
      }
      const ids = await idsOf(scene);
      const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
      must(twice.length === 0, `each id should occur once; duplicates: ${twice.join(', ')}`);
    },
  },
  {
    name: 'models-takes-a-query',
    rule: 'A path with `?limit=1000`, as agents send it, is accepted.',
    source: sources.sdkClient.messages,
    async run({ gateway }) {
      mustHaveStatus(await gateway.ask('models', { path: '/v1/models?limit=1000' }), 200);
    },
  },
  {
    name: 'models-refuses-no-credentials',
    rule: 'A request without credentials is rejected with 401 or 403, with an error object.',
    source: sources.errors.chat,
    run: async ({ gateway }) => mustBeError('models', await gateway.ask('models', { as: 'none' }), [401, 403]),
  },
  {
    name: 'models-refuses-wrong-method',
    rule: 'POST is rejected with 405 or 404.',
    source: sources.methods,
    async run({ gateway }) {
      mustHaveStatus(await gateway.ask('models', { method: 'POST', body: {} }), 405, 404);
    },
  },
  ...(['chat', 'messages', 'responses'] as const).map(
    (endpoint): Rule => ({
      name: `models-lists-the-model-of-${endpoint}`,
      endpoints: ['models', endpoint],
      rule: `The list has the model that ${endpoint} accepts.`,
      source,
      async run(scene) {
        const model = scene.modelOf(endpoint);
        const ids = await idsOf(scene);
        must(ids.includes(model), `the list should have ${model}; it has ${ids.join(', ')}`);
      },
    }),
  ),
];

async function list({ gateway }: Scene): Promise<Found> {
  const answer = await gateway.ask('models');
  mustAnswerWith(answer, 200);
  return new Found(answer.json(), 'answer');
}

const idsOf = async (scene: Scene) => (await list(scene)).at('data').list.map((model) => model.at('id').name);
