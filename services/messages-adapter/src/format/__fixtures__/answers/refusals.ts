import type Anthropic from '@anthropic-ai/sdk';
import { args, call, text } from '@gateway/testkit/adapters';
import {
  type Events,
  end,
  type MessagesAnswer,
  messageDelta,
  oddEvent,
  start,
  stop,
  textBlock,
  texts,
  thinkingBlock,
  tokens,
  toolBlock,
  usual,
  usualUsage,
} from './events.ts';

type Category = Anthropic.Beta.BetaRefusalStopDetails['category'];

const refused = { stopReason: 'refusal', ending: 'content_filter' } as const;

/** A refusal shows as the finish reason, and what was said before it stays. The provider's explanation goes nowhere. */
export const refusalCases: readonly MessagesAnswer[] = [
  usual({ name: 'a refusal before any text', blocks: [], ...refused, deltas: [] }),
  usual({ name: 'a refusal after an empty text block', blocks: textBlock(0), ...refused, deltas: [] }),
  usual({
    name: 'a refusal in the midst of the text',
    blocks: textBlock(0, 'First, you ta', 'ke'),
    ...refused,
    deltas: texts('First, you ta', 'ke'),
  }),
  usual({ name: 'a refusal while thinking', blocks: thinkingBlock(0, 'They want …'), ...refused, deltas: [] }),
  usual({
    name: 'a refusal after a call: the call is not to be run',
    blocks: toolBlock(0, 'toolu_01', 'look', '{"at":1}'),
    ...refused,
    deltas: [call(0, 'toolu_01', 'look'), args(0, '{"at":1}')],
  }),
  explained('a refusal that names its category', [], 'bio', 'PROVIDER TEXT'),
  explained('a refusal without category and explanation', textBlock(0, 'Well'), null, null),
  {
    name: 'a refusal with details that the client library does not know',
    events: [
      start(),
      oddEvent({
        type: 'message_delta',
        delta: { stop_reason: 'refusal', stop_details: { type: 'novelty', why: 'PROVIDER TEXT' } },
        usage: { output_tokens: 5 },
      }),
      stop,
    ],
    deltas: [],
    ending: 'content_filter',
    usage: usualUsage,
  },
  {
    name: 'a refusal that costs nothing',
    events: [start({ input_tokens: 0, output_tokens: 0 }), ...end('refusal', { output_tokens: 0 })],
    deltas: [],
    ending: 'content_filter',
  },
  {
    name: 'a refusal that is counted',
    events: [start(), ...textBlock(0, 'Well'), ...end('refusal', { input_tokens: 12, output_tokens: 3 })],
    deltas: [text('Well')],
    ending: 'content_filter',
    usage: tokens({ input: 12, output: 3 }),
  },
];

function explained(name: string, blocks: Events, category: Category, explanation: string | null): MessagesAnswer {
  const details: Anthropic.Beta.BetaRefusalStopDetails = {
    type: 'refusal',
    category,
    explanation,
    fallback_credit_token: null,
    fallback_has_prefill_claim: null,
    recommended_model: null,
  };
  return {
    name,
    events: [start(), ...blocks, messageDelta('refusal', { output_tokens: 5 }, { stop_details: details }), stop],
    deltas: blocks.length > 0 ? [text('Well')] : [],
    ending: 'content_filter',
    usage: usualUsage,
  };
}
