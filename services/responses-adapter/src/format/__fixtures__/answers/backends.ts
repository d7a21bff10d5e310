import { args, call, text } from '@gateway/testkit/adapters';
import {
  argumentsDelta,
  argumentsDone,
  callEvents,
  itemAdded,
  itemDone,
  messageEvents,
  partAdded,
  partDone,
  type ResponsesAnswer,
  textDelta,
  textDone,
} from './events.ts';
import { functionCall, message, reasoning, textPart } from './items.ts';
import { completed, created, response } from './responses.ts';
import { altered, frame, json, without } from './unusual-frames.ts';

const probe = functionCall('call_1', 'probe', '{"a":1}');
const probeBegun = functionCall('call_1', 'probe');
const textThenCall = [
  itemAdded(message([])),
  textDelta('Look.'),
  itemDone(message('Look.')),
  itemAdded(probeBegun, 1),
  argumentsDelta('{"a"', 1),
  argumentsDelta(':1}', 1),
  argumentsDone('{"a":1}', 1),
  itemDone(probe, 1),
];
const lookAndProbe = [text('Look.'), call(0, 'call_1', 'probe'), args(0, '{"a"'), args(0, ':1}')];

const withoutIndexes: readonly ResponsesAnswer[] = [
  {
    name: 'events without an output index, which are of the latest item',
    everySplit: true,
    events: [...textThenCall.map((event) => without(event, 'output_index')), completed()],
    deltas: lookAndProbe,
    ending: 'tool_calls',
  },
  {
    name: 'deltas without any index or id, and no beginnings of items',
    events: [
      json('{"type":"response.output_text.delta","delta":"Hel"}'),
      json('{"type":"response.output_text.delta","delta":"lo."}'),
      json('{"type":"response.completed"}'),
    ],
    deltas: [text('Hel'), text('lo.')],
    ending: 'stop',
  },
  {
    name: 'two calls without an output index, one after the other',
    events: [
      ...callEvents('call_1', 'probe', ['{"a":1}']).map(withoutIndex),
      ...callEvents('call_2', 'probe', []).map(withoutIndex),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{"a":1}'), call(1, 'call_2', 'probe'), args(1, '{}')],
    ending: 'tool_calls',
  },
  {
    name: 'indexes that are no indexes',
    events: [
      altered(textDelta('Hel'), { output_index: '0', content_index: null }),
      altered(textDelta('lo.'), { output_index: -1, content_index: 0.5 }),
      completed(),
    ],
    deltas: [text('Hel'), text('lo.')],
    ending: 'stop',
  },
  {
    name: 'events without the ids of items and without numbers',
    events: [...textThenCall.map((event) => without(event, 'item_id', 'sequence_number')), completed()],
    deltas: lookAndProbe,
    ending: 'tool_calls',
  },
];

const withoutDeltas: readonly ResponsesAnswer[] = [
  {
    name: 'a text that only its end holds',
    everySplit: true,
    events: [created(), textDone('Whole.'), completed()],
    deltas: [text('Whole.')],
    ending: 'stop',
  },
  {
    name: 'a text that only its part holds',
    events: [created(), partAdded(textPart('')), partDone(textPart('Whole.')), completed()],
    deltas: [text('Whole.')],
    ending: 'stop',
  },
  {
    name: 'a text that only its item holds',
    events: [created(), itemDone(message('Whole.')), completed()],
    deltas: [text('Whole.')],
    ending: 'stop',
  },
  {
    name: 'everything in the finished response only',
    everySplit: true,
    events: [completed({ output: [reasoning(), message('Whole.'), probe] })],
    deltas: [text('Whole.'), call(0, 'call_1', 'probe'), args(0, '{"a":1}')],
    ending: 'tool_calls',
  },
];

const withoutOutput: readonly ResponsesAnswer[] = [
  {
    name: 'a finished response with an empty output, after text and a call',
    everySplit: true,
    events: [created(), ...textThenCall, completed({ output: [] })],
    deltas: lookAndProbe,
    ending: 'tool_calls',
  },
  {
    name: 'a finished response without an output',
    events: [created(), ...textThenCall, frame({ type: 'response.completed', response: { status: 'completed' } })],
    deltas: lookAndProbe,
    ending: 'tool_calls',
  },
  {
    name: 'a finished response with null for output',
    events: [created(), ...textThenCall, altered(completed(), { response: { ...response(), output: null } })],
    deltas: lookAndProbe,
    ending: 'tool_calls',
  },
  {
    name: 'a finished event without a response',
    events: [created(), ...messageEvents(['Hi.']), json('{"type":"response.completed"}')],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
  {
    name: 'a finished response with things for items that are none',
    events: [created(), textDelta('Hi.'), altered(completed(), { response: { output: [null, 1, 'x', {}, []] } })],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
];

const withoutBeginnings: readonly ResponsesAnswer[] = [
  {
    name: 'no beginning of the response',
    events: [...messageEvents(['Hi.']), completed()],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
  {
    name: 'no beginnings of items and parts',
    events: [created(), textDelta('Hi.'), textDone('Hi.'), itemDone(message('Hi.')), completed()],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
  {
    name: 'no ends of items and parts',
    events: [
      created(),
      itemAdded(message([])),
      textDelta('Look.'),
      itemAdded(probeBegun, 1),
      argumentsDelta('{}', 1),
      completed(),
    ],
    deltas: [text('Look.'), call(0, 'call_1', 'probe'), args(0, '{}')],
    ending: 'tool_calls',
  },
  {
    name: 'items without their content',
    events: [
      created(),
      frame({ type: 'response.output_item.added', output_index: 0 }),
      frame({ type: 'response.output_item.added', output_index: 0, item: { type: 'message' } }),
      textDelta('Hi.'),
      frame({ type: 'response.output_item.done', output_index: 0, item: { type: 'message', content: null } }),
      completed(),
    ],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
  {
    name: 'parts without their text',
    events: [
      created(),
      altered(partDone(textPart('')), { part: { type: 'output_text', text: null } }),
      altered(textDone(''), { text: undefined }),
      json('{"type":"response.content_part.done"}'),
      textDelta('Hi.'),
      completed(),
    ],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
];

export const backendCases: readonly ResponsesAnswer[] = [
  ...withoutIndexes,
  ...withoutDeltas,
  ...withoutOutput,
  ...withoutBeginnings,
];

function withoutIndex(event: ResponsesAnswer['events'][number]): string {
  return typeof event === 'string' ? event : without(event, 'output_index');
}
