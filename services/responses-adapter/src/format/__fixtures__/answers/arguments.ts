import { args, call } from '@gateway/testkit/adapters';
import { argumentsDelta, argumentsDone, callEvents, itemAdded, itemDone, type ResponsesAnswer } from './events.ts';
import { functionCall, reasoning } from './items.ts';
import { completed, created, incomplete } from './responses.ts';
import { altered } from './unusual-frames.ts';

const begun = itemAdded(functionCall('call_1', 'save'));
const calls = call(0, 'call_1', 'save');

/** A call whose arguments come in these deltas and reach the client as they are. */
function kept(name: string, deltas: readonly string[], everySplit?: true): ResponsesAnswer {
  return {
    name: `arguments ${name}`,
    everySplit,
    events: [created(), ...callEvents('call_1', 'save', deltas), completed()],
    deltas: [calls, ...deltas.map((delta) => args(0, delta))],
    ending: 'tool_calls',
  };
}

const asTheyAre: readonly ResponsesAnswer[] = [
  kept('that are an empty object', ['{}']),
  kept('with escapes, cut within them', ['{"path":"C:\\', '\\temp\\u00', 'e9","q":"\\', '""}'], true),
  kept('that hold JSON as text', [JSON.stringify({ body: JSON.stringify({ a: ['"', '\\'] }) })], true),
  kept('with characters of several bytes', ['{"city":"東', '京","flag":"🇳🇱"}'], true),
  kept('that cut a character in two', ['{"a":"\ud83d', '\ude00"}'], true),
  kept('with line breaks and indents', ['{\n  "a": 1,\n', '\t"b": [\r\n  ]\n}']),
  kept('with integers too large for a number', ['{"id":12345678901234567890,', '"price":0.10000000000000000001}']),
  kept('with a key twice', ['{"a":1,"a":2}']),
  kept('with the key __proto__', ['{"__proto__":{"admin":true}}']),
  kept('nested deeply', [`${'['.repeat(300)}${']'.repeat(300)}`]),
  kept('that are an array', ['[1,2]']),
  kept('that are a text', ['"plain"']),
  kept('that are null', ['null']),
  kept('that are no JSON', ['city=Oslo']),
  kept('that end in the middle', ['{"city":"Os']),
  kept('of nothing but white space', [' \n']),
  kept('of thirty thousand characters', [`{"text":"${'long '.repeat(6_000)}"}`]),
  kept('in two hundred deltas of one character', [...`"${'x'.repeat(198)}"`]),
];

/** Clients parse arguments, so that none at all are an empty object. */
const none: readonly ResponsesAnswer[] = [
  {
    name: 'no arguments by any event, which are an empty object',
    everySplit: true,
    events: [created(), ...callEvents('call_1', 'save', []), completed()],
    deltas: [calls, args(0, '{}')],
    ending: 'tool_calls',
  },
  {
    name: 'no arguments in nothing but empty deltas, which are an empty object',
    events: [created(), ...callEvents('call_1', 'save', ['', '']), completed()],
    deltas: [calls, args(0, '{}')],
    ending: 'tool_calls',
  },
  {
    name: 'no arguments of a call that never ended, which are an empty object',
    events: [created(), begun, completed()],
    deltas: [calls, args(0, '{}')],
    ending: 'tool_calls',
  },
  {
    name: 'no arguments of a call in the finished response only, which are an empty object',
    events: [created(), completed({ output: [functionCall('call_1', 'save', '')] })],
    deltas: [calls, args(0, '{}')],
    ending: 'tool_calls',
  },
  {
    name: 'no arguments of a call that was cut short: none, so that no client runs it',
    everySplit: true,
    events: [created(), begun, incomplete('max_output_tokens')],
    deltas: [calls],
    ending: 'length',
  },
  {
    name: 'no arguments of a call that was cut short by a filter: none',
    events: [created(), begun, incomplete('content_filter')],
    deltas: [calls],
    ending: 'content_filter',
  },
  {
    name: 'no arguments of a call that was cut short and whose item ended: none',
    everySplit: true,
    events: [created(), ...callEvents('call_1', 'save', []), incomplete('max_output_tokens')],
    deltas: [calls],
    ending: 'length',
  },
  {
    name: 'no arguments of a call that only a response which was cut short holds: none',
    events: [incomplete('max_output_tokens', { output: [functionCall('call_1', 'save')] })],
    deltas: [calls],
    ending: 'length',
  },
  {
    name: 'no arguments of a complete call before one that was cut short: an empty object',
    everySplit: true,
    events: [
      created(),
      ...callEvents('call_1', 'save', []),
      ...callEvents('call_2', 'save', [], 1),
      incomplete('max_output_tokens'),
    ],
    deltas: [calls, args(0, '{}'), call(1, 'call_2', 'save')],
    ending: 'length',
  },
  {
    name: 'no arguments of a complete call before reasoning that was cut short: an empty object',
    events: [
      created(),
      ...callEvents('call_1', 'save', []),
      itemAdded(reasoning(), 1),
      incomplete('max_output_tokens'),
    ],
    deltas: [calls, args(0, '{}')],
    ending: 'length',
  },
  {
    name: 'no arguments of calls that only a response which was cut short holds: only the last is cut',
    events: [
      incomplete('max_output_tokens', { output: [functionCall('call_1', 'save'), functionCall('call_2', 'save')] }),
    ],
    deltas: [calls, args(0, '{}'), call(1, 'call_2', 'save')],
    ending: 'length',
  },
  {
    name: 'null for arguments, which are an empty object',
    events: [
      created(),
      altered(itemDone(functionCall('call_1', 'save')), {
        item: { type: 'function_call', call_id: 'call_1', name: 'save', arguments: null },
      }),
      completed(),
    ],
    deltas: [calls, args(0, '{}')],
    ending: 'tool_calls',
  },
];

const partly: readonly ResponsesAnswer[] = [
  {
    name: 'arguments with empty deltas between others',
    events: [created(), ...callEvents('call_1', 'save', ['', '{"a"', '', ':1}']), completed()],
    deltas: [calls, args(0, '{"a"'), args(0, ':1}')],
    ending: 'tool_calls',
  },
  {
    name: 'arguments whose deltas stop before their end',
    everySplit: true,
    events: [created(), begun, argumentsDelta('{"a":"\\u00'), argumentsDone('{"a":"\\u00e9"}'), completed()],
    deltas: [calls, args(0, '{"a":"\\u00'), args(0, 'e9"}')],
    ending: 'tool_calls',
  },
];

export const argumentsCases: readonly ResponsesAnswer[] = [...asTheyAre, ...none, ...partly];
