import { args, call, text } from '@gateway/testkit/adapters';
import {
  argumentsDelta,
  argumentsDone,
  callEvents,
  itemAdded,
  itemDone,
  messageEvents,
  type ResponsesAnswer,
} from './events.ts';
import { functionCall, reasoning } from './items.ts';
import { completed, created, incomplete } from './responses.ts';
import { altered, frame, without } from './unusual-frames.ts';

const weather = functionCall('call_1', 'get_weather', '{"city":"Oslo"}');
const weatherBegun = functionCall('call_1', 'get_weather');
const longId = `call_${'a1B2'.repeat(16)}`;

const streamed: readonly ResponsesAnswer[] = [
  {
    name: 'a tool call with its arguments in several deltas',
    everySplit: true,
    events: [created(), ...callEvents('call_1', 'get_weather', ['{"city"', ':"Os', 'lo"}']), completed()],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city"'), args(0, ':"Os'), args(0, 'lo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'a text, then a tool call',
    events: [
      created(),
      ...messageEvents(['Let me look.']),
      ...callEvents('call_1', 'get_weather', ['{"city":"Oslo"}'], 1),
      completed(),
    ],
    deltas: [text('Let me look.'), call(0, 'call_1', 'get_weather'), args(0, '{"city":"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call after reasoning, which has index 0',
    events: [
      created(),
      itemAdded(reasoning()),
      itemDone(reasoning()),
      ...callEvents('call_1', 'get_weather', ['{"city":"Oslo"}'], 1),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call that everything holds, the finished response included',
    events: [
      created(),
      ...callEvents('call_1', 'get_weather', ['{"city":"Oslo"}']),
      completed({ output: [reasoning(), weather] }),
    ],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call whose id is `call_id`, not that of the item',
    everySplit: true,
    events: [
      created(),
      itemAdded(functionCall('call_Xy', 'probe', '', { id: 'fc_0123' })),
      itemDone(functionCall('call_Xy', 'probe', '{"a":1}', { id: 'fc_0123' })),
      completed({ output: [functionCall('call_Xy', 'probe', '{"a":1}', { id: 'fc_0123' })] }),
    ],
    deltas: [call(0, 'call_Xy', 'probe'), args(0, '{"a":1}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call with an id of 69 characters',
    everySplit: true,
    events: [created(), ...callEvents(longId, 'probe', ['{"a":1}']), completed()],
    deltas: [call(0, longId, 'probe'), args(0, '{"a":1}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call with an id of unusual characters',
    events: [created(), ...callEvents('functions.probe:0 "é"', 'probe', ['{"a":1}']), completed()],
    deltas: [call(0, 'functions.probe:0 "é"', 'probe'), args(0, '{"a":1}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call cut short by its length',
    events: [created(), itemAdded(weatherBegun), argumentsDelta('{"city":"Os'), incomplete('max_output_tokens')],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":"Os')],
    ending: 'length',
  },
];

const shownElsewhere: readonly ResponsesAnswer[] = [
  {
    name: 'arguments that came whole',
    events: [created(), itemAdded(weatherBegun), argumentsDone('{"city":"Oslo"}'), completed()],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'arguments that end with more than their deltas said',
    events: [
      created(),
      itemAdded(weatherBegun),
      argumentsDelta('{"city"'),
      argumentsDone('{"city":"Oslo"}'),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city"'), args(0, ':"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'arguments that end with something else than their deltas said',
    events: [created(), itemAdded(weatherBegun), argumentsDelta('{"city":1}'), itemDone(weather), completed()],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":1}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call that only its item holds',
    events: [created(), itemDone(weather), completed()],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call that only the finished response holds',
    events: [created(), completed({ output: [weather] })],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call of which the finished response shows the arguments',
    events: [created(), itemAdded(weatherBegun), completed({ output: [weather] })],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call that begins with all its arguments',
    events: [created(), itemAdded(weather), argumentsDone('{"city":"Oslo"}'), itemDone(weather), completed()],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call whose name comes with its end',
    events: [
      created(),
      altered(itemAdded(weatherBegun), { item: { type: 'function_call', id: 'fc_1', arguments: '' } }),
      argumentsDelta('{"city":'),
      itemDone(weather),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":'), args(0, '"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'arguments that come before their call begins',
    events: [created(), argumentsDelta('{"city":'), itemAdded(weatherBegun), argumentsDelta('"Oslo"}'), completed()],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":'), args(0, '"Oslo"}')],
    ending: 'tool_calls',
  },
  {
    name: 'a tool call without a `call_id`, known by the id of its item',
    events: [
      created(),
      frame({
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'function_call', id: 'fc_9', name: 'probe', arguments: '{"a":1}' },
      }),
      completed(),
    ],
    deltas: [call(0, 'fc_9', 'probe'), args(0, '{"a":1}')],
    ending: 'tool_calls',
  },
  {
    name: 'arguments of a call without a name',
    events: [created(), argumentsDelta('{"city":"Oslo"}'), completed()],
    deltas: [],
    ending: { failed: 'SERVER_ERROR', code: 'providers_unavailable' },
  },
  {
    name: 'a tool call with an empty name',
    events: [created(), itemDone(functionCall('call_1', '', '{"a":1}')), completed()],
    deltas: [],
    ending: { failed: 'SERVER_ERROR', code: 'providers_unavailable' },
  },
  {
    name: 'a tool call whose item has no id and no status',
    events: [
      created(),
      altered(itemDone(weather), { item: { ...weather, id: undefined, status: undefined } }),
      without(completed(), 'sequence_number'),
    ],
    deltas: [call(0, 'call_1', 'get_weather'), args(0, '{"city":"Oslo"}')],
    ending: 'tool_calls',
  },
];

export const toolCallCases: readonly ResponsesAnswer[] = [...streamed, ...shownElsewhere];
