import { chat } from '../formats/chat.ts';
import { ask, doubleOf, hello } from '../formats/format.ts';
import { shown } from '../formats/found.ts';
import { messages } from '../formats/messages.ts';
import { requestThatReached } from '../formats/provider-request.ts';
import { responses } from '../formats/responses.ts';
import { must, NotApplicable } from '../verdict.ts';
import { mustAnswerWith, mustHaveStatus } from './errors.ts';
import { ofEach, type Rule } from './rules.ts';
import { sources } from './sources.ts';
import { inFormat, reachedInSameFormat, whatReached } from './to-the-provider.ts';

const common = { temperature: 1, top_p: 1, seed: 7, user: 'someone', n: 1 };
const call = { id: 'call_conformance', type: 'function', function: { name: 'now', arguments: '{}' } };
const parts = (...texts: readonly string[]) => texts.map((text) => ({ type: 'text', text }));

/** Requests that only chat completions can express. */
export const chatRequests: readonly Rule[] = [
  {
    name: 'chat-developer-text-reaches-the-provider',
    rule: 'A message with the role `developer`, and content in parts, reaches the provider as system text.',
    source: sources.request.chat,
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
    rule: 'Earlier tool calls are accepted with `content` null, empty or absent, and with results in parts, as SDKs send them.',
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
    rule: 'Stop sequences, as a string or a list, reach a provider whose format supports them.',
    source: sources.request.chat,
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
    rule: 'Parameters that SDKs and agents commonly send are accepted.',
    source: sources.request.chat,
    run: (scene) =>
      ofEach(
        Object.fromEntries(Object.entries(common).map(([field, value]) => [field, { [field]: value }])),
        async (more) => mustAnswerWith(await ask(scene, chat, { ...hello, more }), 200),
      ),
  },
];

const fields: Readonly<Record<string, unknown>> = {
  max_tokens: 321,
  stop_sequences: ['THE END', '###'],
  system: [{ type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } }],
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  metadata: { user_id: 'someone' },
};

const thinkingTurns = [
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Let me see.', signature: 'Y29uZm9ybWFuY2U=' },
      { type: 'tool_use', id: 'toolu_conformance', name: 'now', input: { zone: 'CET' } },
    ],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_conformance', content: 'Noon' }] },
];

/** Requests that only Messages can express, to a provider of Messages. */
export const messagesRequests: readonly Rule[] = [
  {
    name: 'messages-fields-reach-the-provider',
    rule: '`max_tokens`, `stop_sequences`, system blocks with `cache_control`, `thinking` and `metadata` reach the provider.',
    source: sources.request.messages,
    needs: ['double'],
    run: (scene) =>
      ofEach(Object.fromEntries(Object.keys(fields).map((field) => [field, field])), async (field) => {
        const more = { max_tokens: 2_048, [field]: fields[field] };
        const found = (await reachedInSameFormat(scene, messages, { more })).body.at(field);
        // A gateway may add to the system prompt, but not remove from it.
        const isThere = JSON.stringify(found.value ?? null).includes(JSON.stringify(fields[field]).slice(1, -1));
        if (!isThere) throw found.not(shown(fields[field]));
      }),
  },
  {
    name: 'messages-thinking-goes-back-unchanged',
    rule: 'Thinking blocks of earlier turns are sent to the provider unchanged, with their signatures.',
    source: sources.reasoning.messages,
    needs: ['double'],
    async run(scene) {
      const { body } = await reachedInSameFormat(scene, messages, { turnsAfter: thinkingTurns });
      const turns = body.at('messages').list.map((turn) => JSON.stringify(turn.value));
      const isThere = turns.includes(JSON.stringify(thinkingTurns[0]));
      must(isThere, `the turn should be ${shown(thinkingTurns[0])}; there are ${shown(turns)}`);
    },
  },
  {
    name: 'messages-betas-reach-the-provider',
    rule: '`anthropic-beta` reaches the provider, which rejects the fields of a beta without it.',
    source: sources.betas,
    needs: ['double'],
    async run(scene) {
      using scripted = doubleOf(scene).script({ parts: [{ kind: 'text', text: 'Read.' }] });
      const beta = 'context-management-2025-06-27';
      await ask(scene, messages, { text: scripted.marker }, { headers: { 'anthropic-beta': beta } });
      const { headers } = inFormat(messages, requestThatReached(scripted));
      const found = headers['anthropic-beta'] ?? 'not there';
      must(found.includes(beta), `anthropic-beta should have ${beta}; at the provider it is ${found}`);
    },
  },
];

const developer = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Keep the light.' }] };

const reasoningItems = [
  { type: 'reasoning', id: 'rs_conformance', summary: [], encrypted_content: 'Y29uZm9ybWFuY2U=' },
  { type: 'function_call', call_id: 'call_conformance', name: 'now', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_conformance', output: 'Noon' },
];

/** Requests that only Responses can express. */
export const responsesRequests: readonly Rule[] = [
  {
    name: 'responses-developer-text-reaches-the-provider',
    rule: 'A message with the role `developer` reaches the provider as system text.',
    source: sources.request.responses,
    needs: ['double'],
    async run(scene) {
      const { system } = await whatReached(scene, responses, { turnsAfter: [developer] });
      must(system.join('\n').includes('Keep the light.'), `it should reach the provider; ${shown(system)} does`);
    },
  },
  {
    name: 'responses-fields-reach-the-provider',
    rule: '`reasoning.effort` and `prompt_cache_key` reach a Responses provider.',
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
    rule: 'Encrypted reasoning is sent to a Responses provider, before the item that it belongs to.',
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
    rule: 'An `input` that is plain text is accepted, or rejected with 400.',
    source: sources.request.responses,
    async run(scene) {
      const body = { model: scene.modelOf('responses'), input: 'Say hello.', store: false };
      mustHaveStatus(await scene.gateway.ask('responses', { body }), 200, 400);
    },
  },
];
