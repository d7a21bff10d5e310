import { args, call, text } from '@gateway/testkit/adapters';
import {
  type CaseEvents,
  callEvents,
  itemAdded,
  itemDone,
  messageEvents,
  partAdded,
  partDone,
  type ResponsesAnswer,
  reasoningDelta,
  summaryDelta,
} from './events.ts';
import { message, reasoning, reasoningPart } from './items.ts';
import { completed, created, incomplete, usageReport } from './responses.ts';

/** A summary of reasoning, shown by every event that the provider has for it. */
function summaryEvents(thought: string, index = 0): CaseEvents {
  const place = { sequence_number: 0, item_id: `rs_${index}`, output_index: index, summary_index: 0 };
  const part = { type: 'summary_text', text: thought } as const;
  return [
    itemAdded(reasoning(), index),
    { type: 'response.reasoning_summary_part.added', ...place, part: { ...part, text: '' } },
    summaryDelta(thought, index),
    { type: 'response.reasoning_summary_text.done', ...place, text: thought },
    { type: 'response.reasoning_summary_part.done', ...place, part },
    itemDone(reasoning({ summary: [part], encrypted_content: 'gAAAAA==' }), index),
  ];
}

/** Reasoning in full, shown by every event that the provider has for it. */
function reasoningEvents(thought: string, index = 0): CaseEvents {
  const place = { sequence_number: 0, item_id: `rs_${index}`, output_index: index, content_index: 0 };
  return [
    itemAdded(reasoning(), index),
    partAdded(reasoningPart(''), { item: index }),
    reasoningDelta(thought, index),
    { type: 'response.reasoning_text.done', ...place, text: thought },
    partDone(reasoningPart(thought), { item: index }),
    itemDone(reasoning({ content: [reasoningPart(thought)] }), index),
  ];
}

export const reasoningCases: readonly ResponsesAnswer[] = [
  {
    name: 'a summary of reasoning, which no client sees',
    everySplit: true,
    events: [created(), ...summaryEvents('**Weighing**'), ...messageEvents(['Four.'], { at: 1 }), completed()],
    deltas: [text('Four.')],
    ending: 'stop',
  },
  {
    name: 'reasoning in full, which no client sees',
    events: [created(), ...reasoningEvents('Two and two.'), ...messageEvents(['Four.'], { at: 1 }), completed()],
    deltas: [text('Four.')],
    ending: 'stop',
  },
  {
    name: 'reasoning between two messages',
    events: [
      created(),
      ...messageEvents(['Let me see.']),
      ...summaryEvents('Hm.', 1),
      ...messageEvents(['Four.'], { at: 2 }),
      completed(),
    ],
    deltas: [text('Let me see.'), text('\n\n'), text('Four.')],
    ending: 'stop',
  },
  {
    name: 'reasoning before each of two tool calls, whose indexes count calls only',
    events: [
      created(),
      ...summaryEvents('First.'),
      ...callEvents('call_1', 'probe', ['{"n":1}'], 1),
      ...reasoningEvents('Second.', 2),
      ...callEvents('call_2', 'probe', ['{"n":2}'], 3),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{"n":1}'), call(1, 'call_2', 'probe'), args(1, '{"n":2}')],
    ending: 'tool_calls',
  },
  {
    name: 'reasoning after the answer',
    events: [created(), ...messageEvents(['Four.']), ...reasoningEvents('Was that right?', 1), completed()],
    deltas: [text('Four.')],
    ending: 'stop',
  },
  {
    name: 'nothing but reasoning that used up the limit of tokens',
    everySplit: true,
    events: [
      created(),
      ...summaryEvents('Hm.'),
      incomplete('max_output_tokens', { usage: usageReport({ input: 9, output: 64, reasoning: 64 }) }),
    ],
    deltas: [],
    ending: 'length',
    usage: { inputTokens: 9, cachedTokens: 0, outputTokens: 64, reasoningTokens: 64 },
  },
  {
    name: 'nothing but reasoning in a finished response',
    events: [created(), ...reasoningEvents('Nothing to say.'), completed({ output: [reasoning()] })],
    deltas: [],
    ending: 'stop',
  },
  {
    name: 'encrypted reasoning without a word',
    events: [
      created(),
      itemAdded(reasoning()),
      itemDone(reasoning({ encrypted_content: 'gAAAAABo'.repeat(40) })),
      ...messageEvents(['Four.'], { at: 1 }),
      completed(),
    ],
    deltas: [text('Four.')],
    ending: 'stop',
  },
  {
    name: 'a reasoning part within a message',
    events: [
      created(),
      itemAdded(message([])),
      partAdded(reasoningPart('')),
      partDone(reasoningPart('Two and two.')),
      itemDone(message([])),
      ...messageEvents(['Four.'], { at: 1 }),
      completed(),
    ],
    deltas: [text('Four.')],
    ending: 'stop',
  },
  {
    name: 'a summary that was cut short',
    events: [
      created(),
      {
        type: 'response.reasoning_summary_part.done',
        sequence_number: 0,
        item_id: 'rs_0',
        output_index: 0,
        summary_index: 0,
        part: { type: 'summary_text', text: 'Hm' },
        status: 'incomplete',
      },
      incomplete('max_output_tokens'),
    ],
    deltas: [],
    ending: 'length',
  },
];
