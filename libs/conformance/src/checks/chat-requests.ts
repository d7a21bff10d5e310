import { must, NotApplicable } from '../check.ts';
import { chat } from '../formats/chat.ts';
import { ask, hello } from '../formats/format.ts';
import { shown } from '../formats/found.ts';
import { mustAnswerWith } from './errors.ts';
import { ofEach, type Rule } from './rules.ts';
import { sources } from './sources.ts';
import { whatReached } from './to-the-provider.ts';

const source = sources.request.chat;
const common = { temperature: 1, top_p: 1, seed: 7, user: 'someone', n: 1 };
const call = { id: 'call_conformance', type: 'function', function: { name: 'now', arguments: '{}' } };
const parts = (...texts: readonly string[]) => texts.map((text) => ({ type: 'text', text }));

/** What only chat completions can say. */
export const chatRequests: readonly Rule[] = [
  {
    name: 'chat-developer-text-reaches-the-provider',
    rule: 'A message with the role `developer`, and content in parts, reaches the provider as a system text does.',
    source,
    needs: ['double'],
    async run(scene) {
      const { system } = await whatReached(scene, chat, {
        turnsAfter: [
          { role: 'developer', content: parts('Keep ', 'the light.') },
          { role: 'user', content: parts('Now') },
        ],
      });
      const found = system.join('').replaceAll(/\s/g, '');
      must(found === 'Keepthelight.', `the developer text should reach the provider; ${shown(system)} does`);
    },
  },
  {
    name: 'chat-tool-calls-without-content',
    rule: 'Earlier tool calls are taken with `content` null, empty or not there, and results in parts, as SDKs send them.',
    source: sources.tools.chat,
    needs: ['double'],
    run: (scene) =>
      ofEach({ null: { content: null }, empty: { content: '' }, 'not there': {} }, async (content) => {
        const { toolResults } = await whatReached(scene, chat, {
          turnsAfter: [
            { role: 'assistant', ...content, tool_calls: [call] },
            { role: 'tool', tool_call_id: call.id, content: parts('Noon') },
          ],
        });
        must(toolResults[0]?.text === 'Noon', `the result should reach the provider; ${shown(toolResults)} does`);
      }),
  },
  {
    name: 'chat-stop-reaches-the-provider',
    rule: 'Stop sequences, as text or as a list, reach a provider whose format has them.',
    source,
    needs: ['double'],
    run: (scene) =>
      ofEach({ text: 'THE END', list: ['THE END', '###'] }, async (stop) => {
        const { format, body } = await whatReached(scene, chat, { more: { stop } });
        if (format === 'responses') throw new NotApplicable("the provider's format has no stop sequences");
        const found = body.at(format === 'chat' ? 'stop' : 'stop_sequences');
        if ([found.value].flat().join() !== [stop].flat().join()) throw found.not(shown(stop));
      }),
  },
  {
    name: 'chat-takes-common-parameters',
    rule: 'Parameters that SDKs and agents commonly send are taken.',
    source,
    run: (scene) =>
      ofEach(
        Object.fromEntries(Object.entries(common).map(([field, value]) => [field, { [field]: value }])),
        async (more) => mustAnswerWith(await ask(scene, chat, { ...hello, more }), 200),
      ),
  },
];
