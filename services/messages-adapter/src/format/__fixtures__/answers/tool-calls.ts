import { args, call, text } from '@gateway/testkit/adapters';
import {
  block,
  blockDelta,
  blockStart,
  blockStop,
  jsonDelta,
  type MessagesAnswer,
  textBlock,
  textDelta,
  thinkingBlock,
  toolBlock,
  toolUse,
  usual,
  usualCalls,
} from './events.ts';

export const toolCallCases: readonly MessagesAnswer[] = [
  usualCalls({
    name: 'a tool call',
    blocks: toolBlock(0, 'toolu_01', 'get_weather', '{"city":"Delft"}'),
    deltas: [call(0, 'toolu_01', 'get_weather'), args(0, '{"city":"Delft"}')],
  }),
  usualCalls({
    name: 'arguments in pieces that cut names, values and escapes',
    everySplit: true,
    blocks: toolBlock(0, 'toolu_01', 'note', '{"te', 'xt": "a\\', 'n\\u00', 'e9"', '}'),
    deltas: [
      call(0, 'toolu_01', 'note'),
      args(0, '{"te'),
      args(0, 'xt": "a\\'),
      args(0, 'n\\u00'),
      args(0, 'e9"'),
      args(0, '}'),
    ],
  }),
  usualCalls({
    name: 'a call without arguments that streams one empty delta: an empty object',
    everySplit: true,
    blocks: toolBlock(0, 'toolu_01', 'get_time'),
    deltas: [call(0, 'toolu_01', 'get_time'), args(0, '{}')],
  }),
  usualCalls({
    name: 'a call without arguments that streams no delta: an empty object',
    blocks: block(0, toolUse('toolu_01', 'get_time')),
    deltas: [call(0, 'toolu_01', 'get_time'), args(0, '{}')],
  }),
  usualCalls({
    name: 'a call whose deltas are all empty: an empty object',
    blocks: toolBlock(0, 'toolu_01', 'get_time', '', '', ''),
    deltas: [call(0, 'toolu_01', 'get_time'), args(0, '{}')],
  }),
  usualCalls({
    name: 'an empty object that is streamed is not completed with another',
    blocks: toolBlock(0, 'toolu_01', 'get_time', '{', '}'),
    deltas: [call(0, 'toolu_01', 'get_time'), args(0, '{'), args(0, '}')],
  }),
  usualCalls({
    name: 'a call whose arguments come whole with the start of its block',
    blocks: block(0, toolUse('toolu_01', 'get_weather', { city: 'Delft', days: [1, 2] })),
    deltas: [call(0, 'toolu_01', 'get_weather'), args(0, '{"city":"Delft","days":[1,2]}')],
  }),
  usualCalls({
    name: 'whole arguments beside an empty delta',
    blocks: block(0, toolUse('toolu_01', 'get_weather', { city: 'Delft' }), jsonDelta('')),
    deltas: [call(0, 'toolu_01', 'get_weather'), args(0, '{"city":"Delft"}')],
  }),
  usualCalls({
    name: 'whole arguments that are streamed too are given once',
    blocks: block(0, toolUse('toolu_01', 'get_weather', { city: 'Delft' }), jsonDelta('{"city":"Delft"}')),
    deltas: [call(0, 'toolu_01', 'get_weather'), args(0, '{"city":"Delft"}')],
  }),
  usualCalls({
    name: 'text before a call',
    blocks: [...textBlock(0, "I'll look."), ...toolBlock(1, 'toolu_01', 'look', '{"at":1}')],
    deltas: [text("I'll look."), call(0, 'toolu_01', 'look'), args(0, '{"at":1}')],
  }),
  usualCalls({
    name: 'text after a call',
    blocks: [...toolBlock(0, 'toolu_01', 'look', '{"at":1}'), ...textBlock(1, 'Wait.')],
    deltas: [call(0, 'toolu_01', 'look'), args(0, '{"at":1}'), text('Wait.')],
  }),
  usualCalls({
    name: 'an empty text block before a call: no text at all',
    blocks: [...textBlock(0), ...toolBlock(1, 'toolu_01', 'look', '{}')],
    deltas: [call(0, 'toolu_01', 'look'), args(0, '{}')],
  }),
  usualCalls({
    name: 'thinking before a call: the call has index 0',
    blocks: [...thinkingBlock(0, 'I need the time.'), ...toolBlock(1, 'toolu_01', 'get_time')],
    deltas: [call(0, 'toolu_01', 'get_time'), args(0, '{}')],
  }),
  usualCalls({
    name: 'a long call id',
    everySplit: true,
    blocks: toolBlock(0, `toolu_${'0123456789abcdef'.repeat(8)}`, 'look', '{}'),
    deltas: [call(0, `toolu_${'0123456789abcdef'.repeat(8)}`, 'look'), args(0, '{}')],
  }),
  usualCalls({
    name: 'an id and a name with quotes, dots and colons',
    blocks: toolBlock(0, 'call:1."x"', 'ns.tool-1', '{}'),
    deltas: [call(0, 'call:1."x"', 'ns.tool-1'), args(0, '{}')],
  }),
  usualCalls({
    name: 'a call that says who makes it',
    blocks: block(0, { type: 'tool_use', id: 'toolu_01', name: 'look', input: {}, caller: { type: 'direct' } }),
    deltas: [call(0, 'toolu_01', 'look'), args(0, '{}')],
  }),
  usualCalls({
    name: 'text within the block of a call is still text',
    blocks: [
      blockStart(0, toolUse('toolu_01', 'look')),
      blockDelta(0, textDelta('Hm.')),
      blockDelta(0, jsonDelta('{"a":1}')),
      blockStop(0),
    ],
    deltas: [call(0, 'toolu_01', 'look'), text('Hm.'), args(0, '{"a":1}')],
  }),
  usual({
    name: 'a call that the token limit cuts off keeps what there is of its arguments',
    blocks: toolBlock(0, 'toolu_01', 'write', '{"path": "a.tx'),
    stopReason: 'max_tokens',
    deltas: [call(0, 'toolu_01', 'write'), args(0, '{"path": "a.tx')],
    ending: 'length',
  }),
];
