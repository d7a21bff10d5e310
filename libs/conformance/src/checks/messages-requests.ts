import { must } from '../check.ts';
import { ask, doubleOf } from '../formats/format.ts';
import { shown } from '../formats/found.ts';
import { messages } from '../formats/messages.ts';
import { requestThatReached } from '../formats/provider-request.ts';
import { ofEach, type Rule } from './rules.ts';
import { sources } from './sources.ts';
import { inFormat, reachedInSameFormat } from './to-the-provider.ts';

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

/** What only Messages can say, to a provider of Messages. */
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
        // A gateway may add to the system, not take away.
        const isThere = JSON.stringify(found.value ?? null).includes(JSON.stringify(fields[field]).slice(1, -1));
        if (!isThere) throw found.not(shown(fields[field]));
      }),
  },
  {
    name: 'messages-thinking-goes-back-unchanged',
    rule: 'Thinking blocks of earlier turns go back to the provider with their signatures, unchanged.',
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
    rule: '`anthropic-beta` reaches the provider: it refuses the fields of a beta without it.',
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
