import {
  assistant,
  call,
  hi,
  type RequestCases,
  result,
  sentHi,
  sentWeather,
  text,
  toolResult,
  toolUse,
  user,
  weather,
} from './provider-request.ts';

/** Conversations in which the assistant calls the tool. */
export const toolTurnCases: RequestCases = [
  ...conversations([
    {
      name: 'a call and its result',
      messages: [...hi, { role: 'assistant', content: null, tool_calls: [call('a')] }, result('a', 'sun')],
      sent: [...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'))],
    },
    {
      name: 'a call beside text',
      messages: [...hi, { role: 'assistant', content: 'Let me see.', tool_calls: [call('a')] }, result('a', 'sun')],
      sent: [...sentHi, assistant(text('Let me see.'), toolUse('a')), user(toolResult('a', 'sun'))],
    },
    {
      name: 'a call beside a refusal',
      messages: [...hi, { role: 'assistant', refusal: 'No.', tool_calls: [call('a')] }, result('a', 'sun')],
      sent: [...sentHi, assistant(text('No.'), toolUse('a')), user(toolResult('a', 'sun'))],
    },
    ...Object.entries({
      empty: '',
      blank: ' \n',
      'in no parts': [],
      'in an empty part': [{ type: 'text', text: '' }],
    }).map(([what, content]) => ({
      name: `a call beside content that is ${what}`,
      messages: [...hi, { role: 'assistant', content, tool_calls: [call('a')] }, result('a', 'sun')],
      sent: [...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'))],
    })),
    {
      name: 'a call without content',
      messages: [...hi, { role: 'assistant', tool_calls: [call('a')] }, result('a', 'sun')],
      sent: [...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'))],
    },
    {
      name: 'an empty list of calls',
      messages: [...hi, { role: 'assistant', content: 'Hello.', tool_calls: [] }, { role: 'user', content: 'Why?' }],
      sent: [...sentHi, assistant(text('Hello.')), user(text('Why?'))],
    },
    {
      name: 'parallel calls and their results in order, in one message',
      messages: [
        ...hi,
        { role: 'assistant', content: null, tool_calls: [call('a'), call('b'), call('c')] },
        result('a', 'sun'),
        result('b', 'rain'),
        result('c', 'snow'),
      ],
      sent: [
        ...sentHi,
        assistant(toolUse('a'), toolUse('b'), toolUse('c')),
        user(toolResult('a', 'sun'), toolResult('b', 'rain'), toolResult('c', 'snow')),
      ],
    },
    {
      name: 'parallel calls whose results come out of order',
      messages: [
        ...hi,
        { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
        result('b', 'rain'),
        result('a', 'sun'),
      ],
      sent: [...sentHi, assistant(toolUse('a'), toolUse('b')), user(toolResult('b', 'rain'), toolResult('a', 'sun'))],
    },
    {
      name: 'results before and after what the user says, which come first',
      messages: [
        ...hi,
        { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
        result('a', 'sun'),
        { role: 'user', content: 'Hurry!' },
        result('b', 'rain'),
        { role: 'user', content: 'Please.' },
      ],
      sent: [
        ...sentHi,
        assistant(toolUse('a'), toolUse('b')),
        user(toolResult('a', 'sun'), toolResult('b', 'rain'), text('Hurry!'), text('Please.')),
      ],
    },
    {
      name: 'empty messages between a call and its result',
      messages: [
        ...hi,
        { role: 'assistant', content: null, tool_calls: [call('a')] },
        { role: 'assistant', content: '' },
        { role: 'user', content: '' },
        result('a', 'sun'),
      ],
      sent: [...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'))],
    },
    {
      name: 'text after a call, which goes before it',
      messages: [
        ...hi,
        { role: 'assistant', content: 'One.', tool_calls: [call('a')] },
        { role: 'assistant', content: 'Two.' },
        result('a', 'sun'),
      ],
      sent: [...sentHi, assistant(text('One.'), text('Two.'), toolUse('a')), user(toolResult('a', 'sun'))],
    },
    {
      name: 'parallel calls in messages of their own',
      messages: [
        ...hi,
        { role: 'assistant', content: null, tool_calls: [call('a')] },
        { role: 'assistant', content: null, tool_calls: [call('b')] },
        result('a', 'sun'),
        result('b', 'rain'),
      ],
      sent: [...sentHi, assistant(toolUse('a'), toolUse('b')), user(toolResult('a', 'sun'), toolResult('b', 'rain'))],
    },
    {
      name: 'one round of calls after another',
      messages: [
        ...hi,
        { role: 'assistant', content: 'One.', tool_calls: [call('a')] },
        result('a', 'sun'),
        { role: 'assistant', content: 'Two.', tool_calls: [call('b')] },
        result('b', 'rain'),
        { role: 'assistant', content: 'Done.' },
        { role: 'user', content: 'Thanks.' },
      ],
      sent: [
        ...sentHi,
        assistant(text('One.'), toolUse('a')),
        user(toolResult('a', 'sun')),
        assistant(text('Two.'), toolUse('b')),
        user(toolResult('b', 'rain')),
        assistant(text('Done.')),
        user(text('Thanks.')),
      ],
    },
    {
      name: 'a call that begins the conversation',
      messages: [{ role: 'assistant', content: null, tool_calls: [call('a')] }, result('a', 'sun')],
      sent: [
        user(text('(The conversation begins with your answer.)')),
        assistant(toolUse('a')),
        user(toolResult('a', 'sun')),
      ],
    },
    ...results({
      'with white space': ['  sun\n', '  sun\n'],
      'of JSON': ['{"sky": "blue", "n": 1.0}', '{"sky": "blue", "n": 1.0}'],
      'of many scripts': ['☀ 日光 \u{1f31e}', '☀ 日光 \u{1f31e}'],
      'in one part': [[{ type: 'text', text: 'sun' }], 'sun'],
      'in several parts': [
        [
          { type: 'text', text: 'sun' },
          { type: 'text', text: '' },
          { type: 'text', text: 'rain' },
        ],
        [text('sun'), text('rain')],
      ],
      'that is empty': ['', undefined],
      'that is blank': [' \n', undefined],
      'in no parts': [[], undefined],
      'in blank parts': [
        [
          { type: 'text', text: '' },
          { type: 'text', text: ' ' },
        ],
        undefined,
      ],
    }),
  ]),
  {
    name: 'a system message between a call and its result',
    request: {
      tools: [weather],
      messages: [
        ...hi,
        { role: 'assistant', content: null, tool_calls: [call('a')] },
        { role: 'system', content: 'Be brief.' },
        result('a', 'sun'),
      ],
    },
    becomes: {
      system: 'Be brief.',
      tools: [sentWeather],
      messages: [...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'))],
    },
  },
  {
    name: 'a system message after the last result',
    request: {
      tools: [weather],
      messages: [
        ...hi,
        { role: 'assistant', content: null, tool_calls: [call('a')] },
        result('a', 'sun'),
        { role: 'system', content: 'Be brief.' },
      ],
    },
    becomes: {
      system: 'Be brief.',
      tools: [sentWeather],
      messages: [...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'))],
    },
  },
  ...[undefined, [], null].map((tools) => ({
    name: `earlier calls and tools that are ${JSON.stringify(tools) ?? 'absent'}`,
    request: {
      ...(tools !== undefined && { tools }),
      tool_choice: 'auto',
      parallel_tool_calls: false,
      messages: [
        ...hi,
        { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
        result('a', 'sun'),
        result('b', 'rain'),
      ],
    },
    becomes: {
      // A conversation with calls needs tools, though none may be called again.
      tools: [sentWeather],
      tool_choice: { type: 'none' } as const,
      messages: [
        ...sentHi,
        assistant(toolUse('a'), toolUse('b')),
        user(toolResult('a', 'sun'), toolResult('b', 'rain')),
      ],
    },
  })),
];

interface ToolConversation {
  readonly name: string;
  readonly messages: readonly object[];
  readonly sent: ReturnType<typeof user>[];
}

function conversations(cases: readonly ToolConversation[]): RequestCases {
  return cases.map(({ name, messages, sent }) => ({
    name,
    request: { tools: [weather], messages },
    becomes: { tools: [sentWeather], messages: sent },
  }));
}

function results(
  contents: Readonly<Record<string, readonly [content: unknown, sent: Parameters<typeof toolResult>[1]]>>,
): readonly ToolConversation[] {
  return Object.entries(contents).map(([what, [content, sent]]) => ({
    name: `a result ${what}`,
    messages: [...hi, { role: 'assistant', content: null, tool_calls: [call('a')] }, result('a', content)],
    sent: [...sentHi, assistant(toolUse('a')), user(toolResult('a', sent))],
  }));
}
