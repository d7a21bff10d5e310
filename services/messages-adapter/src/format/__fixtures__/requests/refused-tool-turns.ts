import { call, hi, type RequestCases, result, weather } from './provider-request.ts';

const calling = { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] };

/** Conversations whose calls and results do not belong together, refused before anything is sent. */
export const refusedToolTurnCases: RequestCases = conversations({
  'a result without a call': [[...hi, result('a', 'sun')], 'messages[1].tool_call_id'],
  'a result as the only message': [[result('a', 'sun')], 'messages[0].tool_call_id'],
  'a result of another call': [[...hi, calling, result('c', 'sun')], 'messages[2].tool_call_id'],
  'a second result of one call': [
    [...hi, calling, result('a', 'sun'), result('a', 'rain')],
    'messages[3].tool_call_id',
  ],
  'a call at the end': [[...hi, calling], 'messages must not'],
  'one of two calls unanswered': [[...hi, calling, result('a', 'sun')], 'messages must not'],
  'a user who says something instead of the result': [[...hi, calling, ...hi], 'messages must not'],
  'an assistant that goes on before the result': [
    [...hi, calling, result('a', 'sun'), { role: 'assistant', content: 'Sun.' }, result('b', 'rain')],
    'messages[3] must not',
  ],
  'a result that comes a turn late': [
    [...hi, calling, ...hi, { role: 'assistant', content: 'Well.' }, result('a', 'sun'), result('b', 'rain')],
    'messages[3] must not',
  ],
  'a result that names no call': [[...hi, calling, { role: 'tool', content: 'sun' }], 'messages[2].tool_call_id'],
  'a result that names an empty call': [[...hi, calling, result('', 'sun')], 'messages[2].tool_call_id'],
  'a result without content': [[...hi, calling, { role: 'tool', tool_call_id: 'a' }], 'messages[2].content'],
  'a call without an id': [[...hi, callingWith({ id: undefined })], 'messages[1].tool_calls[0].id'],
  'a call with an empty id': [[...hi, callingWith({ id: '' })], 'messages[1].tool_calls[0].id'],
  'a call of a custom tool': [
    [...hi, { role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'shell', input: 'ls' } }] }],
    'messages[1].tool_calls[0].type',
  ],
  'a call without a function': [[...hi, callingWith({ function: undefined })], 'messages[1].tool_calls[0].function'],
  'a call of a function without a name': [
    [...hi, callingWith({ function: { arguments: '{}' } })],
    'messages[1].tool_calls[0].function.name',
  ],
  'a call of a function that no tool may be named after': [
    [...hi, callingWith({ function: { name: 'multi_tool_use.parallel', arguments: '{}' } }), result('a', 'sun')],
    'messages[1].tool_calls[0].function.name',
  ],
  'a call of a function whose name is too long': [
    [...hi, callingWith({ function: { name: 'w'.repeat(129), arguments: '{}' } }), result('a', 'sun')],
    'messages[1].tool_calls[0].function.name',
  ],
  'a call whose arguments are no text': [
    [...hi, callingWith({ function: { name: 'weather', arguments: { city: 'Utrecht' } } })],
    'messages[1].tool_calls[0].function.arguments',
  ],
  'calls that are no list': [[...hi, { role: 'assistant', tool_calls: call('a') }], 'messages[1].tool_calls'],
  'a call that is a text': [[...hi, { role: 'assistant', tool_calls: ['weather()'] }], 'messages[1].tool_calls[0]'],
});

function callingWith(members: object) {
  return { role: 'assistant', tool_calls: [{ ...call('a'), ...members }] };
}

function conversations(
  cases: Readonly<Record<string, readonly [messages: readonly object[], field: string]>>,
): RequestCases {
  return Object.entries(cases).map(([name, [messages, field]]) => ({
    name,
    request: { tools: [weather], messages },
    becomes: { refused: 'invalid_request', field },
  }));
}
