import { args, call, type Delta, text } from '@gateway/testkit/adapters';
import { argumentsDelta, type CaseEvents, itemAdded, itemDone, type ResponsesAnswer, textDelta } from './events.ts';
import { functionCall, message } from './items.ts';
import { completed, created } from './responses.ts';
import { altered, without } from './unusual-frames.ts';

const first = functionCall('call_1', 'look', '', { id: 'fc_a' });
const second = functionCall('call_2', 'wipe', '', { id: 'fc_b' });
const firstDone = { ...first, arguments: '{"x":1}' };
const secondDone = { ...second, arguments: '{"y":2}' };
const firstPart = partOf('fc_a', '{"x":1}');
const secondPart = partOf('fc_b', '{"y":2}');

const firstCall: readonly Delta[] = [call(0, 'call_1', 'look'), args(0, '{"x":1}')];
const secondCall: readonly Delta[] = [call(1, 'call_2', 'wipe'), args(1, '{"y":2}')];

/** Items that have ids and output indexes which do not belong together. */
export const itemIdCases: readonly ResponsesAnswer[] = [
  twoCalls('one after the other, at one output index', [
    ...[itemAdded(first), firstPart, itemDone(firstDone)],
    ...[itemAdded(second), secondPart, itemDone(secondDone)],
  ]),
  twoCalls('one after the other, at one output index, of which no event says the end', [
    ...[itemAdded(first), firstPart, itemAdded(second), secondPart],
  ]),
  twoCalls(
    'interleaved at one output index',
    [itemAdded(first), itemAdded(second), firstPart, secondPart, itemDone(firstDone), itemDone(secondDone)],
    [firstCall[0], secondCall[0], firstCall[1], secondCall[1]],
  ),
  twoCalls('that only their items hold, at one output index', [itemDone(firstDone), itemDone(secondDone)]),
  twoCalls('that only their items hold, without output indexes', [
    without(itemDone(firstDone), 'output_index'),
    without(itemDone(secondDone), 'output_index'),
  ]),
  twoCalls('at one output index, without ids of their items', [
    ...[withoutId(itemAdded(first), first), without(argumentsDelta('{"x":1}'), 'item_id')],
    ...[withoutId(itemAdded(second), second), without(argumentsDelta('{"y":2}'), 'item_id')],
  ]),
  twoCalls('at one output index and under one id', [
    ...[itemAdded({ ...first, id: 'fc' }), partOf('fc', '{"x":1}'), itemDone({ ...firstDone, id: 'fc' })],
    ...[itemAdded({ ...second, id: 'fc' }), partOf('fc', '{"y":2}'), itemDone({ ...secondDone, id: 'fc' })],
  ]),
  twoCalls('at output indexes of their own and under one id', [
    ...[itemAdded({ ...first, id: 'fc' }), partOf('fc', '{"x":1}'), itemDone({ ...firstDone, id: 'fc' })],
    ...[itemAdded({ ...second, id: 'fc' }, 1), partOf('fc', '{"y":2}', 1), itemDone({ ...secondDone, id: 'fc' }, 1)],
  ]),
  {
    name: 'a tool call whose item has another id in each event',
    everySplit: true,
    events: [
      created(),
      itemAdded({ ...first, id: 'x1' }),
      partOf('x2', '{"x"'),
      partOf('x3', ':1}'),
      itemDone({ ...firstDone, id: 'x4' }),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'look'), args(0, '{"x"'), args(0, ':1}')],
    ending: 'tool_calls',
  },
  {
    name: 'a text and a tool call at one output index',
    everySplit: true,
    events: [
      created(),
      itemAdded(message([], { id: 'msg_a' })),
      altered(textDelta('Look.'), { item_id: 'msg_a' }),
      itemDone(message('Look.', { id: 'msg_a' })),
      ...[itemAdded(first), firstPart, itemDone(firstDone)],
      completed(),
    ],
    deltas: [text('Look.'), ...firstCall],
    ending: 'tool_calls',
  },
  {
    name: 'two messages at one output index',
    events: [
      created(),
      itemDone(message('One.', { id: 'msg_a' })),
      itemDone(message('Two.', { id: 'msg_b' })),
      completed(),
    ],
    deltas: [text('One.'), text('\n\n'), text('Two.')],
    ending: 'stop',
  },
  {
    name: 'an item that ends twice',
    events: [
      created(),
      itemDone(message('One.', { id: 'msg_a' })),
      itemDone(message('One.', { id: 'msg_a' })),
      completed(),
    ],
    deltas: [text('One.')],
    ending: 'stop',
  },
];

function twoCalls(
  how: string,
  events: CaseEvents,
  deltas: readonly (Delta | undefined)[] = [...firstCall, ...secondCall],
): ResponsesAnswer {
  return {
    name: `two tool calls ${how}`,
    everySplit: true,
    events: [created(), ...events, completed()],
    deltas: deltas.filter((delta) => delta !== undefined),
    ending: 'tool_calls',
  };
}

function partOf(item_id: string, delta: string, index = 0): string {
  return altered(argumentsDelta(delta, index), { item_id });
}

function withoutId(event: object, { id: _, ...item }: ReturnType<typeof functionCall>): string {
  return altered(event, { item });
}
