import type { FinishReason } from '@gateway/chat';
import { args, call, type Delta, text } from '@gateway/testkit/adapters';
import {
  broken,
  type Events,
  end,
  errorEvent,
  type MessagesAnswer,
  messageDelta,
  oddEvent,
  type StopReason,
  start,
  startUsage,
  stop,
  textBlock,
  thinkingBlock,
  tokens,
  toolBlock,
  usualUsage,
} from './events.ts';

const said = textBlock(0, 'Yes');
const called = toolBlock(0, 'toolu_01', 'look', '{}');
const calledDeltas: readonly Delta[] = [call(0, 'toolu_01', 'look'), args(0, '{}')];

const textEndings = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  compaction: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
  tool_use: 'stop',
} as const satisfies Record<StopReason, FinishReason>;

export const endingCases: readonly MessagesAnswer[] = [
  ...Object.entries(textEndings).map(([stopReason, ending]) =>
    ended(`text that ends with ${stopReason}`, said, messageDeltaOf(stopReason), ending),
  ),
  ended(
    'a stop sequence that is named',
    said,
    [messageDelta('stop_sequence', undefined, { stop_sequence: '###' })],
    'stop',
  ),
  ended('a reason that is not known, after text', said, messageDeltaOf('novelty'), 'stop'),
  ended('a reason that is not known, after a call', called, messageDeltaOf('novelty'), 'tool_calls'),
  ended('the reason null, after text', said, [messageDelta(null)], 'stop'),
  ended('the reason null, after a call', called, [messageDelta(null)], 'tool_calls'),
  ended('a reason that is no text', said, [rawMessageDelta({ stop_reason: 7 })], 'stop'),
  ended(
    'a message delta without a delta',
    said,
    [oddEvent({ type: 'message_delta', usage: { output_tokens: 5 } })],
    'stop',
  ),
  ended('a call that ends with max_tokens', called, messageDeltaOf('max_tokens'), 'length'),
  ...['end_turn', 'stop_sequence', 'pause_turn', 'tool_use'].map((stopReason) =>
    ended(`a call that ends with ${stopReason}`, called, messageDeltaOf(stopReason), 'tool_calls'),
  ),
  ended('tool use without any block', [], messageDeltaOf('tool_use'), 'stop'),
  ended('tool use of which only thinking came', thinkingBlock(0, 'Hm'), messageDeltaOf('tool_use'), 'stop'),
  ended('a reason, then null: the reason stays', said, [messageDelta('max_tokens'), messageDelta(null)], 'length'),
  ended('null, then a reason', said, [messageDelta(null, { output_tokens: 2 }), messageDelta('max_tokens')], 'length'),
  ended(
    'two reasons: the last one counts',
    said,
    [messageDelta('pause_turn'), messageDelta('refusal')],
    'content_filter',
  ),
  {
    name: 'the reason comes before the last block stops',
    events: [start(), ...said.slice(0, -1), messageDelta('max_tokens'), ...said.slice(-1), stop],
    deltas: [text('Yes')],
    ending: 'length',
    usage: usualUsage,
  },
  {
    name: 'nothing is read after the end',
    everySplit: true,
    events: [
      start(),
      ...said,
      ...end('end_turn'),
      errorEvent('overloaded_error'),
      ...textBlock(1, 'no'),
      ...end('refusal'),
    ],
    deltas: [text('Yes')],
    ending: 'stop',
    usage: usualUsage,
  },
  {
    name: 'an end marker after the end',
    everySplit: true,
    events: [start(), ...said, ...end('end_turn'), 'data: [DONE]\n\n'],
    deltas: [text('Yes')],
    ending: 'stop',
    usage: usualUsage,
  },
  {
    name: 'a second message after the end',
    events: [
      start(),
      ...said,
      ...end('end_turn'),
      start({ input_tokens: 99 }),
      ...textBlock(0, 'no'),
      ...end('end_turn'),
    ],
    deltas: [text('Yes')],
    ending: 'stop',
    usage: usualUsage,
  },
  {
    name: 'everything in the beginning of the message',
    everySplit: true,
    events: [
      begun({
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 's' },
          { type: 'text', text: 'Yes', citations: null },
          { type: 'tool_use', id: 'toolu_01', name: 'look', input: { a: 1 } },
          { type: 'tool_use', id: 'toolu_02', name: 'wait', input: {} },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 10, output_tokens: 5 },
      }),
      stop,
    ],
    deltas: [text('Yes'), call(0, 'toolu_01', 'look'), args(0, '{"a":1}'), call(1, 'toolu_02', 'wait'), args(1, '{}')],
    ending: 'tool_calls',
    usage: usualUsage,
  },
  {
    name: 'the beginning of the message has the reason of its end, and a text',
    events: [begun({ content: [{ type: 'text', text: 'Yes', citations: null }], stop_reason: 'max_tokens' }), stop],
    deltas: [text('Yes')],
    ending: 'length',
    usage: startUsage,
  },
  {
    name: 'blocks in the beginning of the message, and more after it',
    events: [
      begun({ content: [{ type: 'text', text: 'Yes', citations: null }] }),
      ...textBlock(0, ' and'),
      ...toolBlock(1, 'toolu_01', 'look', '{}'),
      ...end('tool_use'),
    ],
    deltas: [text('Yes'), text(' and'), ...calledDeltas],
    ending: 'tool_calls',
    usage: usualUsage,
  },
  {
    name: 'a block without its type in the beginning of the message: broken',
    events: [begun({ content: [{ text: 'Yes' }], stop_reason: 'end_turn' }), stop],
    deltas: [],
    ending: broken,
    usage: startUsage,
  },
  {
    name: 'no bytes at all: broken',
    events: [],
    deltas: [],
    ending: broken,
  },
  {
    name: 'a start and nothing more: broken, and another attempt can be made',
    everySplit: true,
    events: [start()],
    deltas: [],
    ending: broken,
    usage: startUsage,
  },
  {
    name: 'text that is not ended: broken, never a finish reason',
    everySplit: true,
    events: [start(), ...said],
    deltas: [text('Yes')],
    ending: broken,
    usage: startUsage,
  },
  {
    name: 'a stop reason without the end of the message: broken all the same',
    events: [start(), ...said, messageDelta('end_turn')],
    deltas: [text('Yes')],
    ending: broken,
    usage: usualUsage,
  },
  {
    name: 'an end marker in the place of the end: broken',
    everySplit: true,
    events: [start(), ...said, messageDelta('end_turn'), 'data: [DONE]\n\n'],
    deltas: [text('Yes')],
    ending: broken,
    usage: usualUsage,
  },
  {
    name: 'a call that the end of the stream cuts off: broken, its arguments are not completed',
    events: [start(), ...called.slice(0, 1)],
    deltas: [call(0, 'toolu_01', 'look')],
    ending: broken,
    usage: startUsage,
  },
  {
    name: 'an end without a beginning: broken',
    events: [stop],
    deltas: [],
    ending: broken,
  },
  {
    name: 'an end of which only the reason came: broken',
    events: end('end_turn'),
    deltas: [],
    ending: broken,
    usage: tokens({ output: 5 }),
  },
];

/** A message that begins with these members besides. */
function begun(members: object): string {
  const { type, message } = { message: {}, ...start() };
  return oddEvent({ type, message: { ...message, ...members } });
}

function ended(name: string, blocks: Events, deltas: Events, ending: FinishReason): MessagesAnswer {
  return {
    name,
    events: [start(), ...blocks, ...deltas, stop],
    deltas: blocks === said ? [text('Yes')] : blocks === called ? calledDeltas : [],
    ending,
    usage: usualUsage,
  };
}

function messageDeltaOf(stopReason: string): Events {
  return [rawMessageDelta({ stop_reason: stopReason, stop_sequence: null })];
}

function rawMessageDelta(delta: object): string {
  return oddEvent({ type: 'message_delta', delta, usage: { output_tokens: 5 } });
}
