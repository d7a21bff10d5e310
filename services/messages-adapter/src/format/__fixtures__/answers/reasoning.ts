import { args, call, text } from '@gateway/testkit/adapters';
import {
  block,
  blockDelta,
  blockStart,
  blockStop,
  end,
  type MessagesAnswer,
  oddEvent,
  start,
  textBlock,
  textDelta,
  texts,
  thinkingBlock,
  thinkingDelta,
  tokens,
  toolBlock,
  usual,
  usualCalls,
} from './events.ts';

const thinking = { type: 'thinking', thinking: '', signature: '' } as const;
const redacted = { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' } as const;

/** Nothing of these blocks reaches a client. */
export const reasoningCases: readonly MessagesAnswer[] = [
  usual({
    name: 'thinking before text',
    blocks: [...thinkingBlock(0, 'Let me see. ', '27 × 453'), ...textBlock(1, '12231')],
    deltas: [text('12231')],
  }),
  usual({
    name: 'redacted thinking before text',
    blocks: [...block(0, redacted), ...textBlock(1, 'Yes.')],
    deltas: [text('Yes.')],
  }),
  usual({
    name: 'thinking whose text is left out: a signature only',
    blocks: [...thinkingBlock(0), ...textBlock(1, 'Yes.')],
    deltas: [text('Yes.')],
  }),
  usual({
    name: 'thinking without text that shows how long it is',
    blocks: [
      ...block(0, thinking, { type: 'thinking_delta', thinking: '', estimated_tokens: 50 }),
      ...textBlock(1, 'Yes.'),
    ],
    deltas: [text('Yes.')],
  }),
  usual({
    name: 'a thinking delta without a text member',
    blocks: [
      blockStart(0, thinking),
      oddEvent({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'thinking_delta', estimated_tokens: 50 },
      }),
      blockStop(0),
      ...textBlock(1, 'Yes.'),
    ],
    deltas: [text('Yes.')],
  }),
  usual({
    name: 'a thinking block that begins with thinking and signature',
    blocks: [...block(0, { type: 'thinking', thinking: 'Hm.', signature: 'EqQBCgIYAhIM' }), ...textBlock(1, 'Yes.')],
    deltas: [text('Yes.')],
  }),
  usual({
    name: 'thinking between text blocks leaves no gap',
    everySplit: true,
    blocks: [...textBlock(0, 'One'), ...thinkingBlock(1, 'and then …'), ...textBlock(2, ', two.')],
    deltas: texts('One', ', two.'),
  }),
  usualCalls({
    name: 'thinking between calls',
    blocks: [
      ...thinkingBlock(0, 'First a.'),
      ...toolBlock(1, 'toolu_a', 'look', '{}'),
      ...thinkingBlock(2, 'Then b.'),
      ...block(3, redacted),
      ...toolBlock(4, 'toolu_b', 'look', '{}'),
    ],
    deltas: [call(0, 'toolu_a', 'look'), args(0, '{}'), call(1, 'toolu_b', 'look'), args(1, '{}')],
  }),
  usual({
    name: 'thinking that goes on while text is streamed',
    blocks: [
      blockStart(0, thinking),
      ...textBlock(1, 'So'),
      blockDelta(0, thinkingDelta('still thinking')),
      blockStop(0),
      ...textBlock(2, ' it is.'),
    ],
    deltas: texts('So', ' it is.'),
  }),
  usual({
    name: 'a text delta within a thinking block is not for clients',
    blocks: [...block(0, thinking, textDelta('secret')), ...textBlock(1, 'Yes.')],
    deltas: [text('Yes.')],
  }),
  usual({ name: 'thinking only', blocks: thinkingBlock(0, 'Nothing to say.'), deltas: [] }),
  usual({
    name: 'thinking that takes all of the token limit',
    blocks: thinkingBlock(0, 'And on, and on'),
    stopReason: 'max_tokens',
    deltas: [],
    ending: 'length',
  }),
  {
    name: 'thinking tokens are counted within the output',
    events: [
      start(),
      ...thinkingBlock(0, 'Hm.'),
      ...textBlock(1, 'Yes.'),
      ...end('end_turn', { output_tokens: 62, output_tokens_details: { thinking_tokens: 50 } }),
    ],
    deltas: [text('Yes.')],
    ending: 'stop',
    usage: tokens({ input: 10, output: 62, reasoning: 50 }),
  },
];
