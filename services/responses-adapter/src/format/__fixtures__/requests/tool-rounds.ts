import type { ClientMessage } from '@gateway/testkit/adapters';
import { calling, question, result, text, toolCall } from './client-messages.ts';
import { assistantItem, callItem, developerItem, outputItem, userItem } from './input-items.ts';
import type { ResponsesRequestCase } from './provider-members.ts';

const delft = '{"city":"Delft"}';
const asked = (...messages: readonly object[]) => ({ messages: [question, ...messages] });

/** A call whose result is this, and the output that the provider gets. */
const answeredWith = (name: string, content: unknown, output: string): ResponsesRequestCase => ({
  name,
  request: asked(calling(toolCall('call_1')), { role: 'tool', tool_call_id: 'call_1', content }),
  becomes: { input: [userItem('Hi'), callItem('call_1', 'weather', delft), outputItem('call_1', output)] },
});

/** A call with these arguments, and what the provider gets of them. */
const calledWith = (name: string, written: unknown, sent: string): ResponsesRequestCase => ({
  name,
  request: asked(
    {
      role: 'assistant',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: written } }],
    },
    result('call_1'),
  ),
  becomes: { input: [userItem('Hi'), callItem('call_1', 'f', sent), outputItem('call_1', '12 °C')] },
});

const three = ['call_a', 'call_b', 'call_c'];
const inParallel = calling(...three.map((id) => toolCall(id)));
const calledInParallel = three.map((id) => callItem(id, 'weather', delft));
const eight = Array.from({ length: 8 }, (_, n) => `call_${n}`);

/** Calls of tools and their results. */
export const toolRoundCases: readonly ResponsesRequestCase[] = [
  answeredWith('a tool result', '12 °C', '12 °C'),
  answeredWith('a tool result in a part', [text('12 °C')], '12 °C'),
  answeredWith('a tool result in several parts', [text('12 °C'), text('sunny'), text('')], '12 °C\nsunny\n'),
  answeredWith('an empty tool result', '', ''),
  answeredWith('a tool result without parts', [], ''),
  answeredWith('a tool result of white space', ' \n', ' \n'),
  answeredWith('a tool result that is JSON', '{"temperature": 12.50}', '{"temperature": 12.50}'),
  answeredWith('a long tool result', 'row\n'.repeat(10_000), 'row\n'.repeat(10_000)),
  calledWith('empty arguments', '', '{}'),
  calledWith('arguments that are null', null, '{}'),
  calledWith('no arguments', undefined, '{}'),
  calledWith('arguments that are spaced', '{ "city" :\n  "Delft" }', '{ "city" :\n  "Delft" }'),
  calledWith(
    'arguments with a number too big to be exact',
    '{"id":12345678901234567890}',
    '{"id":12345678901234567890}',
  ),
  calledWith('arguments with numbers in their own spelling', '{"a":1.0,"b":-0,"c":1E3}', '{"a":1.0,"b":-0,"c":1E3}'),
  calledWith('arguments with a repeated key', '{"a":1,"a":2}', '{"a":1,"a":2}'),
  calledWith('arguments with escapes', '{"s":"\\u00e9 \\"x\\" \\\\n"}', '{"s":"\\u00e9 \\"x\\" \\\\n"}'),
  calledWith('arguments that are broken', '{"city":"Del', '{"city":"Del'),
  calledWith('arguments that are no object', '["Delft"]', '["Delft"]'),
  calledWith('arguments that are no JSON', 'city=Delft', 'city=Delft'),
  calledWith('arguments of white space', ' ', ' '),
  {
    name: 'parallel calls and results in order',
    request: asked(inParallel, ...three.map((id) => result(id, `of ${id}`))),
    becomes: { input: [userItem('Hi'), ...calledInParallel, ...three.map((id) => outputItem(id, `of ${id}`))] },
  },
  {
    name: 'parallel calls and results out of order',
    request: asked(inParallel, result('call_c', 'last'), result('call_a', 'first'), result('call_b', 'second')),
    becomes: {
      input: [
        userItem('Hi'),
        ...calledInParallel,
        outputItem('call_c', 'last'),
        outputItem('call_a', 'first'),
        outputItem('call_b', 'second'),
      ],
    },
  },
  {
    name: 'parallel calls of the same tool and words before them',
    request: asked(
      { role: 'assistant', content: 'Both, then.', tool_calls: [toolCall('call_1'), toolCall('call_2')] },
      result('call_1'),
      result('call_2', ''),
    ),
    becomes: {
      input: [
        userItem('Hi'),
        assistantItem('Both, then.'),
        callItem('call_1', 'weather', delft),
        callItem('call_2', 'weather', delft),
        outputItem('call_1', '12 °C'),
        outputItem('call_2', ''),
      ],
    },
  },
  {
    name: 'eight parallel calls',
    request: asked(calling(...eight.map((id) => toolCall(id, 'f', ''))), ...eight.map((id) => result(id, id))),
    becomes: {
      input: [userItem('Hi'), ...eight.map((id) => callItem(id, 'f', '{}')), ...eight.map((id) => outputItem(id, id))],
    },
  },
  {
    name: 'several rounds of tool calls',
    request: asked(...three.flatMap((id): readonly ClientMessage[] => [calling(toolCall(id)), result(id)]), {
      role: 'assistant',
      content: 'All 12 °C.',
    }),
    becomes: {
      input: [
        userItem('Hi'),
        ...three.flatMap((id) => [callItem(id, 'weather', delft), outputItem(id, '12 °C')]),
        assistantItem('All 12 °C.'),
      ],
    },
  },
  {
    name: 'the same call id in two rounds',
    request: asked(
      calling(toolCall('call_0')),
      result('call_0', 'one'),
      calling(toolCall('call_0', 'time', '{}')),
      result('call_0', 'two'),
    ),
    becomes: {
      input: [
        userItem('Hi'),
        callItem('call_0', 'weather', delft),
        outputItem('call_0', 'one'),
        callItem('call_0', 'time', '{}'),
        outputItem('call_0', 'two'),
      ],
    },
  },
  {
    name: 'a user and a developer between a call and its result',
    request: asked(
      calling(toolCall('call_1')),
      { role: 'user', content: 'Hurry.' },
      { role: 'developer', content: 'Be patient.' },
      result('call_1'),
    ),
    becomes: {
      input: [
        userItem('Hi'),
        callItem('call_1', 'weather', delft),
        userItem('Hurry.'),
        developerItem('Be patient.'),
        outputItem('call_1', '12 °C'),
      ],
    },
  },
  {
    name: 'a call whose type is left out',
    request: asked(
      { role: 'assistant', tool_calls: [{ id: 'call_1', function: { name: 'f', arguments: '{}' } }] },
      result('call_1'),
    ),
    becomes: { input: [userItem('Hi'), callItem('call_1', 'f', '{}'), outputItem('call_1', '12 °C')] },
  },
  {
    name: 'calls with item ids and indexes',
    request: asked(
      { role: 'assistant', tool_calls: [{ ...toolCall('call_1'), index: 0, item_id: 'fc_68a1', status: 'completed' }] },
      { ...result('call_1'), id: 'fco_68a2', name: 'weather' },
    ),
    becomes: { input: [userItem('Hi'), callItem('call_1', 'weather', delft), outputItem('call_1', '12 °C')] },
  },
  {
    name: 'a call first, without a question',
    request: { messages: [calling(toolCall('call_1')), result('call_1')] },
    becomes: { input: [callItem('call_1', 'weather', delft), outputItem('call_1', '12 °C')] },
  },
  {
    name: 'a call without a result',
    request: asked(calling(toolCall('call_1')), { role: 'user', content: 'Never mind.' }),
    becomes: { refused: 'invalid_request', field: 'messages[1].tool_calls[0].id' },
  },
  {
    name: 'one of two calls without a result',
    request: asked(calling(toolCall('call_1'), toolCall('call_2')), result('call_1')),
    becomes: { refused: 'invalid_request', field: 'messages[1].tool_calls[1].id' },
  },
  {
    name: 'a call last',
    request: asked(calling(toolCall('call_1'))),
    becomes: { refused: 'invalid_request', field: 'messages[1].tool_calls[0].id' },
  },
  {
    name: 'a result without a call',
    request: asked(calling(toolCall('call_1')), result('call_1'), result('call_2')),
    becomes: { refused: 'invalid_request', field: 'messages[3].tool_call_id' },
  },
  {
    name: 'a result in a conversation without calls',
    request: asked(result('call_1')),
    becomes: { refused: 'invalid_request', field: 'messages[1].tool_call_id' },
  },
];
