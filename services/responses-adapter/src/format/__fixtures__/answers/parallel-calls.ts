import { args, call, text } from '@gateway/testkit/adapters';
import {
  argumentsDelta,
  argumentsDone,
  callEvents,
  itemAdded,
  itemDone,
  messageEvents,
  type ResponsesAnswer,
  textDelta,
} from './events.ts';
import { functionCall, message, reasoning } from './items.ts';
import { completed, created, incomplete } from './responses.ts';

const first = functionCall('call_1', 'get_weather');
const second = functionCall('call_2', 'get_time');
const firstDone = functionCall('call_1', 'get_weather', '{"a":1}');
const secondDone = functionCall('call_2', 'get_time', '{"b":2}');
const eight = [0, 1, 2, 3, 4, 5, 6, 7];

export const parallelCallCases: readonly ResponsesAnswer[] = [
  {
    name: 'two tool calls, one after the other',
    events: [
      created(),
      ...callEvents('call_1', 'get_weather', ['{"a"', ':1}']),
      ...callEvents('call_2', 'get_time', ['{"b":2}'], 1),
      completed(),
    ],
    deltas: [
      call(0, 'call_1', 'get_weather'),
      args(0, '{"a"'),
      args(0, ':1}'),
      call(1, 'call_2', 'get_time'),
      args(1, '{"b":2}'),
    ],
    ending: 'tool_calls',
  },
  {
    name: 'two tool calls whose arguments are interleaved',
    everySplit: true,
    events: [
      created(),
      itemAdded(first, 0),
      itemAdded(second, 1),
      argumentsDelta('{"a"', 0),
      argumentsDelta('{"b"', 1),
      argumentsDelta(':1}', 0),
      argumentsDelta(':2}', 1),
      itemDone(firstDone, 0),
      itemDone(secondDone, 1),
      completed(),
    ],
    deltas: [
      call(0, 'call_1', 'get_weather'),
      call(1, 'call_2', 'get_time'),
      args(0, '{"a"'),
      args(1, '{"b"'),
      args(0, ':1}'),
      args(1, ':2}'),
    ],
    ending: 'tool_calls',
  },
  {
    name: 'two tool calls that end in reverse order',
    events: [
      created(),
      itemAdded(first, 0),
      itemAdded(second, 1),
      argumentsDone('{"b":2}', 1),
      itemDone(secondDone, 1),
      argumentsDone('{"a":1}', 0),
      itemDone(firstDone, 0),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'get_weather'), call(1, 'call_2', 'get_time'), args(1, '{"b":2}'), args(0, '{"a":1}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call that begins before one that stands ahead of it',
    events: [
      created(),
      itemAdded(second, 5),
      itemAdded(first, 2),
      itemDone(firstDone, 2),
      itemDone(secondDone, 5),
      completed(),
    ],
    deltas: [call(0, 'call_2', 'get_time'), call(1, 'call_1', 'get_weather'), args(1, '{"a":1}'), args(0, '{"b":2}')],
    ending: 'tool_calls',
  },
  {
    name: 'tool calls at output indexes far apart, whose own indexes are dense',
    events: [
      created(),
      ...callEvents('call_1', 'get_weather', ['{"a":1}'], 2),
      ...callEvents('call_2', 'get_time', ['{"b":2}'], 7),
      ...callEvents('call_3', 'probe', ['{"c":3}'], 40),
      completed(),
    ],
    deltas: [
      call(0, 'call_1', 'get_weather'),
      args(0, '{"a":1}'),
      call(1, 'call_2', 'get_time'),
      args(1, '{"b":2}'),
      call(2, 'call_3', 'probe'),
      args(2, '{"c":3}'),
    ],
    ending: 'tool_calls',
  },
  {
    name: 'eight tool calls at once',
    events: [created(), ...eight.flatMap((n) => callEvents(`call_${n}`, 'probe', [`{"n":${n}}`], n)), completed()],
    deltas: eight.flatMap((n) => [call(n, `call_${n}`, 'probe'), args(n, `{"n":${n}}`)]),
    ending: 'tool_calls',
  },
  {
    name: 'the same call twice, under two ids',
    events: [
      created(),
      ...callEvents('call_1', 'probe', ['{"a":1}'], 0),
      ...callEvents('call_2', 'probe', ['{"a":1}'], 1),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{"a":1}'), call(1, 'call_2', 'probe'), args(1, '{"a":1}')],
    ending: 'tool_calls',
  },
  {
    name: 'two tool calls without arguments, each with an empty object of them',
    events: [
      created(),
      ...callEvents('call_1', 'list_files', [], 0),
      ...callEvents('call_2', 'list_users', [], 1),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'list_files'), args(0, '{}'), call(1, 'call_2', 'list_users'), args(1, '{}')],
    ending: 'tool_calls',
  },
  {
    name: 'text between two tool calls',
    events: [
      created(),
      ...callEvents('call_1', 'get_weather', ['{"a":1}'], 0),
      ...messageEvents(['And the time.'], { at: 1 }),
      ...callEvents('call_2', 'get_time', ['{"b":2}'], 2),
      completed(),
    ],
    deltas: [
      call(0, 'call_1', 'get_weather'),
      args(0, '{"a":1}'),
      text('And the time.'),
      call(1, 'call_2', 'get_time'),
      args(1, '{"b":2}'),
    ],
    ending: 'tool_calls',
  },
  {
    name: 'text interleaved with arguments',
    events: [
      created(),
      itemAdded(message([]), 0),
      itemAdded(first, 1),
      textDelta('One '),
      argumentsDelta('{"a"', 1),
      textDelta('moment.'),
      argumentsDelta(':1}', 1),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'get_weather'), text('One '), args(0, '{"a"'), text('moment.'), args(0, ':1}')],
    ending: 'tool_calls',
  },
  {
    name: 'two tool calls that only their items hold',
    events: [created(), itemDone(firstDone, 0), itemDone(secondDone, 1), completed()],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"a":1}'), call(1, 'call_2', 'get_time'), args(1, '{"b":2}')],
    ending: 'tool_calls',
  },
  {
    name: 'two tool calls that only the finished response holds',
    events: [created(), completed({ output: [firstDone, secondDone] })],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"a":1}'), call(1, 'call_2', 'get_time'), args(1, '{"b":2}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call by events, another by the finished response only',
    events: [
      created(),
      ...callEvents('call_1', 'get_weather', ['{"a":1}'], 1),
      completed({ output: [reasoning(), firstDone, secondDone] }),
    ],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"a":1}'), call(1, 'call_2', 'get_time'), args(1, '{"b":2}')],
    ending: 'tool_calls',
  },
  {
    name: 'a finished response that lists the calls at other places',
    events: [
      created(),
      ...callEvents('call_1', 'get_weather', ['{"a":1}'], 3),
      ...callEvents('call_2', 'get_time', ['{"b":2}'], 1),
      completed({ output: [secondDone, firstDone] }),
    ],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"a":1}'), call(1, 'call_2', 'get_time'), args(1, '{"b":2}')],
    ending: 'tool_calls',
  },
  {
    name: 'two tool calls of which the limit of tokens cut the second',
    events: [
      created(),
      ...callEvents('call_1', 'get_weather', ['{"a":1}'], 0),
      itemAdded(second, 1),
      argumentsDelta('{"b', 1),
      incomplete('max_output_tokens'),
    ],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"a":1}'), call(1, 'call_2', 'get_time'), args(1, '{"b')],
    ending: 'length',
  },
];
