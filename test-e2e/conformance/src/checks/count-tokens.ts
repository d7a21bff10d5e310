import type { Scene } from '../check.ts';
import { Found } from '../formats/found.ts';
import { must } from '../verdict.ts';
import { mustAnswerWith } from './errors.ts';
import type { Rule } from './rules.ts';
import { sources } from './sources.ts';
import { weather } from './tool-calls.ts';

const source = sources.countTokens;

/** Token counts of a request that does not run. */
export const countTokens: readonly Rule[] = [
  {
    name: 'count-tokens-is-a-count',
    rule: 'The answer has `input_tokens`, an integer above 0. `max_tokens` is not required.',
    source,
    async run(scene) {
      must((await count(scene, { messages: said('Say hello.') })) > 0, 'input_tokens should be more than 0');
    },
  },
  {
    name: 'count-tokens-grows-with-the-text',
    rule: 'A longer text has more tokens.',
    source,
    async run(scene) {
      using few = scene.double?.script({ usage: { input: 12, output: 0 } });
      using many = scene.double?.script({ usage: { input: 2_400, output: 0 } });
      const short = await count(scene, { messages: said(`Say hello. ${few?.marker ?? ''}`) });
      const long = await count(scene, { messages: said(`${'Say hello. '.repeat(800)} ${many?.marker ?? ''}`) });
      must(long > short, `800 times the text should have more than ${short} tokens; it has ${long}`);
    },
  },
  {
    name: 'count-tokens-takes-whole-requests',
    rule: 'System text, tools, images and earlier turns are accepted as in a Messages request.',
    source,
    async run(scene) {
      const tools = [{ name: weather.name, description: weather.description, input_schema: weather.schema }];
      const messages = [...said('Say hello.'), { role: 'assistant', content: 'Hello.' }, ...said('Again.')];
      await count(scene, { system: 'Be short.', tools, messages });
    },
  },
  {
    name: 'count-tokens-takes-a-query',
    rule: 'A path with `?beta=true`, as SDKs and agents send it, is accepted.',
    source: sources.betas,
    async run(scene) {
      await count(scene, { messages: said('Say hello.') }, '/v1/messages/count_tokens?beta=true');
    },
  },
];

const said = (text: string) => [{ role: 'user', content: text }];

async function count(scene: Scene, request: object, path?: string): Promise<number> {
  const body = { model: scene.modelOf('count-tokens'), ...request };
  const answer = await scene.gateway.ask('count-tokens', { body, ...(path !== undefined && { path }) });
  mustAnswerWith(answer, 200);
  return new Found(answer.json(), 'answer').at('input_tokens').count;
}
