import { args, call, type Delta, text } from '@gateway/testkit/adapters';
import {
  block,
  blockDelta,
  blockStart,
  blockStop,
  jsonDelta,
  type MessagesAnswer,
  ping,
  textBlock,
  textDelta,
  thinkingBlock,
  toolBlock,
  toolUse,
  usualCalls,
} from './events.ts';

const many = Array.from({ length: 24 }, (_, index) => index);

export const parallelCallCases: readonly MessagesAnswer[] = [
  usualCalls({
    name: 'two calls, one after the other',
    blocks: [...toolBlock(0, 'toolu_a', 'look', '{"at":1}'), ...toolBlock(1, 'toolu_b', 'look', '{"at":2}')],
    deltas: [call(0, 'toolu_a', 'look'), args(0, '{"at":1}'), call(1, 'toolu_b', 'look'), args(1, '{"at":2}')],
  }),
  usualCalls({
    name: 'calls behind and between other blocks are numbered densely from 0',
    everySplit: true,
    blocks: [
      ...thinkingBlock(0, 'Three.'),
      ...textBlock(1, 'So:'),
      ...toolBlock(2, 'toolu_a', 'look', '{"at":1}'),
      ...thinkingBlock(3),
      ...toolBlock(4, 'toolu_b', 'listen'),
      ...textBlock(5, 'and'),
      ...toolBlock(6, 'toolu_c', 'look', '{"at":3}'),
    ],
    deltas: [
      text('So:'),
      call(0, 'toolu_a', 'look'),
      args(0, '{"at":1}'),
      call(1, 'toolu_b', 'listen'),
      args(1, '{}'),
      text('and'),
      call(2, 'toolu_c', 'look'),
      args(2, '{"at":3}'),
    ],
  }),
  usualCalls({
    name: 'block indexes with gaps still give dense calls',
    blocks: [...toolBlock(3, 'toolu_a', 'look', '1'), ...toolBlock(17, 'toolu_b', 'look', '2')],
    deltas: [call(0, 'toolu_a', 'look'), args(0, '1'), call(1, 'toolu_b', 'look'), args(1, '2')],
  }),
  usualCalls({
    name: 'blocks that come in falling order: calls count as they begin',
    blocks: [...toolBlock(1, 'toolu_b', 'look', '{}'), ...toolBlock(0, 'toolu_a', 'look', '{}')],
    deltas: [call(0, 'toolu_b', 'look'), args(0, '{}'), call(1, 'toolu_a', 'look'), args(1, '{}')],
  }),
  usualCalls({
    name: 'two calls whose arguments are interleaved',
    everySplit: true,
    blocks: [
      blockStart(0, toolUse('toolu_a', 'look')),
      blockStart(1, toolUse('toolu_b', 'look')),
      blockDelta(1, jsonDelta('{"at"')),
      blockDelta(0, jsonDelta('{"on"')),
      blockDelta(1, jsonDelta(':2}')),
      blockDelta(0, jsonDelta(':1}')),
      blockStop(1),
      blockStop(0),
    ],
    deltas: [
      call(0, 'toolu_a', 'look'),
      call(1, 'toolu_b', 'look'),
      args(1, '{"at"'),
      args(0, '{"on"'),
      args(1, ':2}'),
      args(0, ':1}'),
    ],
  }),
  usualCalls({
    name: 'interleaved calls of which one has no arguments',
    blocks: [
      blockStart(0, toolUse('toolu_a', 'get_time')),
      blockStart(1, toolUse('toolu_b', 'look')),
      blockDelta(1, jsonDelta('{"at":2}')),
      blockStop(0),
      blockStop(1),
    ],
    deltas: [call(0, 'toolu_a', 'get_time'), call(1, 'toolu_b', 'look'), args(1, '{"at":2}'), args(0, '{}')],
  }),
  usualCalls({
    name: 'text in the midst of a call',
    blocks: [
      blockStart(0, toolUse('toolu_a', 'look')),
      blockDelta(0, jsonDelta('{"at"')),
      ...textBlock(1, 'Meanwhile'),
      blockDelta(0, jsonDelta(':1}')),
      blockStop(0),
    ],
    deltas: [call(0, 'toolu_a', 'look'), args(0, '{"at"'), text('Meanwhile'), args(0, ':1}')],
  }),
  usualCalls({
    name: 'a block index that is used again after its stop',
    blocks: [...toolBlock(0, 'toolu_a', 'look', '{"at":1}'), ...toolBlock(0, 'toolu_b', 'look', '{"at":2}')],
    deltas: [call(0, 'toolu_a', 'look'), args(0, '{"at":1}'), call(1, 'toolu_b', 'look'), args(1, '{"at":2}')],
  }),
  usualCalls({
    name: 'calls with the same id and name stay two calls',
    blocks: [...toolBlock(0, 'toolu_a', 'roll', '{}'), ...toolBlock(1, 'toolu_a', 'roll', '{}')],
    deltas: [call(0, 'toolu_a', 'roll'), args(0, '{}'), call(1, 'toolu_a', 'roll'), args(1, '{}')],
  }),
  usualCalls({
    name: 'calls of which one comes whole and one in deltas',
    blocks: [...block(0, toolUse('toolu_a', 'look', { at: 1 })), ...toolBlock(1, 'toolu_b', 'look', '{"at":', '2}')],
    deltas: [
      call(0, 'toolu_a', 'look'),
      args(0, '{"at":1}'),
      call(1, 'toolu_b', 'look'),
      args(1, '{"at":'),
      args(1, '2}'),
    ],
  }),
  usualCalls({
    name: 'pings between the pieces of a call',
    blocks: toolBlock(0, 'toolu_a', 'look', '{"at":', '1}').flatMap((event) => [ping, event]),
    deltas: [call(0, 'toolu_a', 'look'), args(0, '{"at":'), args(0, '1}')],
  }),
  usualCalls({
    name: 'two dozen calls',
    blocks: many.flatMap((index) => toolBlock(index, `toolu_${index}`, 'look', `{"at":${index}}`)),
    deltas: many.flatMap((index): Delta[] => [call(index, `toolu_${index}`, 'look'), args(index, `{"at":${index}}`)]),
  }),
  usualCalls({
    name: 'two dozen calls that all begin before one of them goes on',
    blocks: [
      ...many.map((index) => blockStart(index, toolUse(`toolu_${index}`, 'look'))),
      ...many.toReversed().map((index) => blockDelta(index, jsonDelta(`{"at":${index}}`))),
      ...many.map((index) => blockStop(index)),
    ],
    deltas: [
      ...many.map((index) => call(index, `toolu_${index}`, 'look')),
      ...many.toReversed().map((index) => args(index, `{"at":${index}}`)),
    ],
  }),
  usualCalls({
    name: 'a text delta for a block that has stopped, between two calls',
    blocks: [
      ...textBlock(0, 'a'),
      ...toolBlock(1, 'toolu_a', 'look', '{}'),
      blockDelta(0, textDelta('b')),
      ...toolBlock(2, 'toolu_b', 'look', '{}'),
    ],
    deltas: [
      text('a'),
      call(0, 'toolu_a', 'look'),
      args(0, '{}'),
      text('b'),
      call(1, 'toolu_b', 'look'),
      args(1, '{}'),
    ],
  }),
];
