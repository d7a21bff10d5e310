import {
  assistant,
  call,
  hi,
  type RequestCases,
  result,
  sentHi,
  sentWeather,
  toolResult,
  toolUse,
  user,
  weather,
} from './provider-request.ts';

/** Ids and arguments of calls. */
export const toolCallCases: RequestCases = [
  ...ids({
    'an id that fits': ['call_abc-123', 'call_abc-123'],
    'an id of the other provider': ['call_5dGxk2M1uhUNhxDnYnE5tLZ7', 'call_5dGxk2M1uhUNhxDnYnE5tLZ7'],
    'an id of this provider': ['toolu_01A09q90qw90lq917835lq9', 'toolu_01A09q90qw90lq917835lq9'],
    'an id of the most letters': ['x'.repeat(64), 'x'.repeat(64)],
    'an id of one letter too many': ['x'.repeat(65), `${'x'.repeat(47)}_9537c5fdf120482f`],
    'an id of ninety letters': [`call_${'A'.repeat(85)}`, `call_${'A'.repeat(42)}_01222cd1b97296c4`],
    'an id with a dot and a colon': ['functions.weather:0', 'functions_weather_0_c8cf447133ca3362'],
    'an id with a space and a slash': ['a b/ç', 'a_b___027194cc2f0153e3'],
    'an id of no letters at all': ['😀', '___f0443a342c5ef547'],
    'an id cut in the middle of a character': ['cut \ud83d', 'cut___2b3aeb1ce06b8b5a'],
  }),
  ...conversations({
    'ids that differ only in what is replaced': [
      [calling('a:b', 'a.b'), result('a:b', 'sun'), result('a.b', 'rain')],
      [
        assistant(toolUse('a_b_6783a31eabf68ccc'), toolUse('a_b_2e7336dc8eba87ef')),
        user(toolResult('a_b_6783a31eabf68ccc', 'sun'), toolResult('a_b_2e7336dc8eba87ef', 'rain')),
      ],
    ],
    'ids that differ only in what is cut off': [
      [calling('x'.repeat(65), 'x'.repeat(66)), result('x'.repeat(66), 'sun'), result('x'.repeat(65), 'rain')],
      [
        assistant(toolUse(`${'x'.repeat(47)}_9537c5fdf120482f`), toolUse(`${'x'.repeat(47)}_6eb879f1291c6ee7`)),
        user(
          toolResult(`${'x'.repeat(47)}_6eb879f1291c6ee7`, 'sun'),
          toolResult(`${'x'.repeat(47)}_9537c5fdf120482f`, 'rain'),
        ),
      ],
    ],
    'an id that comes again in a later turn': [
      [calling('call_0'), result('call_0', 'sun'), calling('call_0'), result('call_0', 'rain')],
      [
        assistant(toolUse('call_0')),
        user(toolResult('call_0', 'sun')),
        assistant(toolUse('call_0_1_801178adf4f55d27')),
        user(toolResult('call_0_1_801178adf4f55d27', 'rain')),
      ],
    ],
    'an id that three turns have': [
      [
        ...[calling('call_0'), result('call_0', 'sun')],
        ...[calling('call_0'), result('call_0', 'rain')],
        ...[calling('call_0'), result('call_0', 'snow')],
      ],
      [
        assistant(toolUse('call_0')),
        user(toolResult('call_0', 'sun')),
        assistant(toolUse('call_0_1_801178adf4f55d27')),
        user(toolResult('call_0_1_801178adf4f55d27', 'rain')),
        assistant(toolUse('call_0_2_d8d9e880ebc0b0b5')),
        user(toolResult('call_0_2_d8d9e880ebc0b0b5', 'snow')),
      ],
    ],
    'an id that comes again, when a call already has what it would become': [
      [
        ...[calling('call_0_1_801178adf4f55d27'), result('call_0_1_801178adf4f55d27', 'sun')],
        ...[calling('call_0'), result('call_0', 'rain')],
        ...[calling('call_0'), result('call_0', 'snow')],
      ],
      [
        assistant(toolUse('call_0_1_801178adf4f55d27')),
        user(toolResult('call_0_1_801178adf4f55d27', 'sun')),
        assistant(toolUse('call_0')),
        user(toolResult('call_0', 'rain')),
        assistant(toolUse('call_0_2_d8d9e880ebc0b0b5')),
        user(toolResult('call_0_2_d8d9e880ebc0b0b5', 'snow')),
      ],
    ],
    'one id for two calls of a turn, answered in order': [
      [calling('same', 'same'), result('same', 'sun'), result('same', 'rain')],
      [
        assistant(toolUse('same'), toolUse('same_1_567187881afc8f59')),
        user(toolResult('same', 'sun'), toolResult('same_1_567187881afc8f59', 'rain')),
      ],
    ],
  }),
  ...argumentsOf({
    'an object of nothing but spaces': ['{  }', {}],
    'empty arguments': ['', {}],
    'blank arguments': [' \n', {}],
    'arguments of every kind': [
      '{"text":"a","number":1.5,"whole":-7,"yes":true,"no":false,"none":null,"list":[1,[],{}],"object":{"a":{}}}',
      {
        ...{ text: 'a', number: 1.5, whole: -7, yes: true, no: false, none: null },
        ...{ list: [1, [], {}], object: { a: {} } },
      },
    ],
    'arguments in many lines': ['\n{\n  "city" : "Utrecht"\n}\n', { city: 'Utrecht' }],
    'arguments of many scripts': ['{"城市":"\\u6771京","face":"\\ud83d\\ude00😀"}', { 城市: '東京', face: '😀😀' }],
    'arguments with quotes and control characters': ['{"a":"\\"\\\\\\n\\u0000\\u2028"}', { a: '"\\\n\u0000\u2028' }],
    'arguments cut in the middle of a character': ['{"a":"cut \\ud83d"}', { a: 'cut \ufffd' }],
    'an argument given twice': ['{"a":1,"a":2}', { a: 2 }],
    'arguments that are cut off': ['{"city":"Utr', { _arguments: '{"city":"Utr' }],
    'arguments with more after them': ['{"a":1}{"a":2}', { _arguments: '{"a":1}{"a":2}' }],
    'arguments that are no JSON': ['city=Utrecht', { _arguments: 'city=Utrecht' }],
    'arguments that are a list': ['["Utrecht"]', { _arguments: '["Utrecht"]' }],
    'arguments that are a text': ['"Utrecht"', { _arguments: '"Utrecht"' }],
    'arguments that are a number': ['7', { _arguments: '7' }],
    'arguments that are null': ['null', { _arguments: 'null' }],
    'arguments deeper than anybody reads': [deepList(50_000), { _arguments: deepList(50_000) }],
  }),
  {
    name: 'a call that leaves its arguments out',
    request: {
      tools: [weather],
      messages: [
        ...hi,
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather' } }] },
        result('a', 'sun'),
      ],
    },
    becomes: {
      tools: [sentWeather],
      messages: [...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'))],
    },
  },
  {
    name: 'a call that leaves its type out',
    request: {
      tools: [weather],
      messages: [
        ...hi,
        { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'weather', arguments: '{}' } }] },
        result('a', 'sun'),
      ],
    },
    becomes: {
      tools: [sentWeather],
      messages: [...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'))],
    },
  },
];

function ids(cases: Readonly<Record<string, readonly [id: string, sent: string]>>): RequestCases {
  return Object.entries(cases).flatMap(([name, [id, sent]]) =>
    conversations({
      [name]: [
        [calling(id), result(id, 'sun')],
        [assistant(toolUse(sent)), user(toolResult(sent, 'sun'))],
      ],
    }),
  );
}

type WrittenArguments = readonly [written: string, sent: Readonly<Record<string, unknown>>];

function argumentsOf(cases: Readonly<Record<string, WrittenArguments>>): RequestCases {
  return Object.entries(cases).flatMap(([what, [written, sent]]) =>
    conversations({
      [`a call with ${what}`]: [
        [{ role: 'assistant', content: null, tool_calls: [call('a', written)] }, result('a', 'sun')],
        [assistant(toolUse('a', sent)), user(toolResult('a', 'sun'))],
      ],
    }),
  );
}

type Conversation = readonly [messages: readonly object[], sent: ReturnType<typeof user>[]];

function conversations(cases: Readonly<Record<string, Conversation>>): RequestCases {
  return Object.entries(cases).map(([name, [messages, sent]]) => ({
    name,
    request: { tools: [weather], messages: [...hi, ...messages] },
    becomes: { tools: [sentWeather], messages: [...sentHi, ...sent] },
  }));
}

function calling(...callIds: readonly string[]) {
  return { role: 'assistant', content: null, tool_calls: callIds.map((id) => call(id)) };
}

function deepList(levels: number): string {
  return `{"deep":${'['.repeat(levels)}${']'.repeat(levels)}}`;
}
