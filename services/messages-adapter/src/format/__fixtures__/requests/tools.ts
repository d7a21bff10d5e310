import type Anthropic from '@anthropic-ai/sdk';
import { hi, type RequestCases, sentHi } from './provider-request.ts';

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
const closedCity = {
  ...city,
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const anyObject = { type: 'object', properties: {} } as const;

export const toolCases: RequestCases = [
  ...tools({
    'a tool of nothing but a name': [{ name: 'f' }, { name: 'f', input_schema: anyObject }],
    'a tool with a description': [
      { name: 'f', description: 'Says "f".\nTwice.' },
      { name: 'f', description: 'Says "f".\nTwice.', input_schema: anyObject },
    ],
    'a tool whose description is empty': [
      { name: 'f', description: '' },
      { name: 'f', description: '', input_schema: anyObject },
    ],
    'a tool whose description is null': [
      { name: 'f', description: null },
      { name: 'f', input_schema: anyObject },
    ],
    'a tool with parameters': [
      { name: 'f', parameters: city },
      { name: 'f', input_schema: { ...city, required: ['city'] } },
    ],
    'a tool whose parameters are null': [
      { name: 'f', parameters: null },
      { name: 'f', input_schema: anyObject },
    ],
    'a tool whose parameters say nothing': [
      { name: 'f', parameters: {} },
      { name: 'f', input_schema: anyObject },
    ],
    'a tool that takes nothing': [
      { name: 'f', parameters: { type: 'object' } },
      { name: 'f', input_schema: anyObject },
    ],
    'a tool whose parameters have no type': [
      { name: 'f', parameters: { properties: { n: { type: 'integer' } } } },
      { name: 'f', input_schema: { type: 'object', properties: { n: { type: 'integer' } } } },
    ],
    'a tool whose parameters may be null': [
      { name: 'f', parameters: { ...anyObject, type: ['object', 'null'] } },
      { name: 'f', input_schema: anyObject },
    ],
    'a tool that is not strict': [
      { name: 'f', parameters: closedCity, strict: false },
      { name: 'f', input_schema: { ...closedCity, type: 'object' } },
    ],
    'a tool whose strictness is null': [
      { name: 'f', parameters: closedCity, strict: null },
      { name: 'f', input_schema: { ...closedCity, type: 'object' } },
    ],
    'a strict tool': [
      { name: 'f', parameters: closedCity, strict: true },
      { name: 'f', input_schema: { ...closedCity, type: 'object' }, strict: true },
    ],
    'a strict tool whose objects are open': [
      { name: 'f', parameters: city, strict: true },
      { name: 'f', input_schema: { ...closedCity, type: 'object' }, strict: true },
    ],
    'a strict tool with limits, which go into the description': [
      {
        name: 'f',
        strict: true,
        parameters: {
          type: 'object',
          properties: { n: { type: 'integer', description: 'How many.', minimum: 1, maximum: 9 } },
          required: ['n'],
        },
      },
      {
        name: 'f',
        strict: true,
        input_schema: {
          type: 'object',
          properties: { n: { type: 'integer', description: 'How many. (minimum: 1, maximum: 9)' } },
          required: ['n'],
          additionalProperties: false,
        },
      },
    ],
    'a strict tool whose schema can not be strict': [
      { name: 'f', strict: true, parameters: { type: 'object', additionalProperties: { type: 'string' } } },
      { name: 'f', input_schema: { type: 'object', properties: {}, additionalProperties: { type: 'string' } } },
    ],
    'a strict tool without parameters': [
      { name: 'f', strict: true },
      { name: 'f', input_schema: anyObject },
    ],
    'a tool of the longest name that both formats take': [
      { name: `f-_${'9'.repeat(61)}` },
      { name: `f-_${'9'.repeat(61)}`, input_schema: anyObject },
    ],
    'a tool with more members than functions have': [
      { name: 'f', cache_control: { type: 'ephemeral' }, defer_loading: true, type: 'custom' },
      { name: 'f', input_schema: anyObject },
    ],
  }),
  {
    name: 'a strict tool for a model that knows none',
    model: 'claude-opus-4-1-20250805',
    request: { messages: hi, tools: [{ type: 'function', function: { name: 'f', parameters: city, strict: true } }] },
    becomes: { messages: sentHi, tools: [{ name: 'f', input_schema: { ...city, required: ['city'] } }] },
  },
  {
    name: 'tools in their order',
    request: { messages: hi, tools: ['b', 'a', 'c'].map((name) => ({ type: 'function', function: { name } })) },
    becomes: { messages: sentHi, tools: ['b', 'a', 'c'].map((name) => ({ name, input_schema: anyObject })) },
  },
  {
    name: 'tools that leave their type out',
    request: { messages: hi, tools: [{ function: { name: 'f' } }] },
    becomes: { messages: sentHi, tools: [{ name: 'f', input_schema: anyObject }] },
  },
  {
    name: 'more strict tools than a request may have',
    request: { messages: hi, tools: many(21).map((name) => strictTool(name)) },
    becomes: {
      messages: sentHi,
      tools: many(21).map((name) => ({ name, input_schema: { ...city, required: ['city'] } })),
    },
  },
  {
    name: 'as many strict tools as a request may have',
    request: { messages: hi, tools: many(20).map((name) => strictTool(name)) },
    becomes: {
      messages: sentHi,
      tools: many(20).map((name) => ({ name, strict: true, input_schema: { ...closedCity, type: 'object' } })),
    },
  },
  {
    name: 'a strict tool beside one that is not',
    request: {
      messages: hi,
      tools: [strictTool('a'), { type: 'function', function: { name: 'b', parameters: city } }],
    },
    becomes: {
      messages: sentHi,
      tools: [
        { name: 'a', strict: true, input_schema: { ...closedCity, type: 'object' } },
        { name: 'b', input_schema: { ...city, required: ['city'] } },
      ],
    },
  },
  ...[[], null].map((none) => ({
    name: `tools that are ${JSON.stringify(none)}, and a choice among them`,
    request: { messages: hi, tools: none, tool_choice: 'required', parallel_tool_calls: false },
    becomes: { messages: sentHi },
  })),
];

function tools(cases: Readonly<Record<string, readonly [definition: object, sent: Anthropic.Tool]>>): RequestCases {
  return Object.entries(cases).map(([name, [definition, sent]]) => ({
    name,
    request: { messages: hi, tools: [{ type: 'function', function: definition }] },
    becomes: { messages: sentHi, tools: [sent] },
  }));
}

function strictTool(name: string) {
  return { type: 'function', function: { name, parameters: city, strict: true } };
}

function many(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `tool_${index}`);
}
