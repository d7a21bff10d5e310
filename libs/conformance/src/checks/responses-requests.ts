import { must } from '../check.ts';
import { shown } from '../formats/found.ts';
import { responses } from '../formats/responses.ts';
import { mustHaveStatus } from './errors.ts';
import type { Rule } from './rules.ts';
import { sources } from './sources.ts';
import { reachedInSameFormat, whatReached } from './to-the-provider.ts';

const source = sources.request.responses;

const developer = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Keep the light.' }] };

const reasoningItems = [
  { type: 'reasoning', id: 'rs_conformance', summary: [], encrypted_content: 'Y29uZm9ybWFuY2U=' },
  { type: 'function_call', call_id: 'call_conformance', name: 'now', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_conformance', output: 'Noon' },
];

/** What only Responses can say. */
export const responsesRequests: readonly Rule[] = [
  {
    name: 'responses-developer-text-reaches-the-provider',
    rule: 'A message with the role `developer` reaches the provider as a system text does.',
    source,
    needs: ['double'],
    async run(scene) {
      const { system } = await whatReached(scene, responses, { turnsAfter: [developer] });
      must(system.join('\n').includes('Keep the light.'), `it should reach the provider; ${shown(system)} does`);
    },
  },
  {
    name: 'responses-fields-reach-the-provider',
    rule: '`reasoning.effort` and `prompt_cache_key` reach a provider of Responses.',
    source: sources.reasoning.responses,
    needs: ['double'],
    async run(scene) {
      const more = { reasoning: { effort: 'low' }, prompt_cache_key: 'conformance-lighthouse' };
      const { body } = await reachedInSameFormat(scene, responses, { more });
      body.at('reasoning', 'effort').is('low');
      void body.at('prompt_cache_key').name;
    },
  },
  {
    name: 'responses-encrypted-reasoning-goes-back',
    rule: 'Encrypted reasoning goes back to a provider of Responses, before the item that it belongs to.',
    source: sources.reasoning.responses,
    needs: ['double'],
    async run(scene) {
      const { body } = await reachedInSameFormat(scene, responses, { turnsAfter: reasoningItems });
      const items = body.at('input').list;
      const at = items.findIndex((item) => item.at('type').value === 'reasoning');
      must(at !== -1, 'the reasoning should reach the provider; it does not');
      items[at]?.at('encrypted_content').is('Y29uZm9ybWFuY2U=');
      items[at + 1]?.at('type').is('function_call');
    },
  },
  {
    name: 'responses-text-input',
    rule: 'An `input` that is plain text is taken, or refused with 400.',
    source,
    async run(scene) {
      const body = { model: scene.modelOf('responses'), input: 'Say hello.', store: false };
      mustHaveStatus(await scene.gateway.ask('responses', { body }), 200, 400);
    },
  },
];
