import { question } from './client-messages.ts';
import { userItem } from './input-items.ts';
import type { ProviderMembers, ResponsesRequestCase } from './provider-members.ts';

type SentTool = NonNullable<ProviderMembers['tools']>[number];

const citySchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const closedSchema = { ...citySchema, additionalProperties: false };
const noParameters = { type: 'object', properties: {} };

/** Everything that schemas of real tools have in them. */
const richSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  $defs: { place: { type: 'object', properties: { name: { type: 'string', minLength: 1 } } } },
  properties: {
    place: { $ref: '#/$defs/place' },
    unit: { type: 'string', enum: ['celsius', 'fahrenheit', '°'], default: 'celsius' },
    day: { type: 'string', format: 'date', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
    hours: { type: 'array', items: { type: 'integer', minimum: 0, maximum: 23 }, minItems: 1, uniqueItems: true },
    nested: { type: 'object', additionalProperties: { type: ['number', 'null'] } },
    either: { anyOf: [{ type: 'string' }, { type: 'object', properties: {} }, { const: null }] },
    'naïve ключ': { not: { type: 'string' }, description: 'A "quoted" \\ text.\n🗼' },
  },
  required: ['place', 'unit'],
  additionalProperties: false,
};

const declared = (...definitions: readonly object[]) => ({
  messages: [question],
  tools: definitions.map((definition) => ({ type: 'function', function: definition })),
});

/** A function of this definition, and the tool that the provider gets. */
const tool = (name: string, definition: object, sent: Omit<SentTool & { type: 'function' }, 'type' | 'name'>) => ({
  name,
  request: declared({ name: 'weather', ...definition }),
  becomes: { input: [userItem('Hi')], tools: [{ type: 'function', name: 'weather', ...sent } as const] },
});

const refused = (name: string, tools: unknown, field: string): ResponsesRequestCase => ({
  name,
  request: { messages: [question], tools },
  becomes: { refused: 'invalid_request', field },
});

const longestName = `a-Z_0${'9'.repeat(59)}`;

/** Function tools: flat at the provider, and never strict by accident. */
export const toolCases: readonly ResponsesRequestCase[] = [
  tool(
    'a tool',
    { description: 'The weather.', parameters: citySchema },
    { description: 'The weather.', parameters: citySchema, strict: false },
  ),
  tool('a tool with nothing but a name', {}, { parameters: noParameters, strict: false }),
  tool('a tool whose parameters are null', { parameters: null }, { parameters: noParameters, strict: false }),
  tool('a tool whose parameters are an empty schema', { parameters: {} }, { parameters: {}, strict: false }),
  tool(
    'a tool whose parameters have no properties',
    { parameters: { type: 'object' } },
    { parameters: { type: 'object' }, strict: false },
  ),
  tool('a strict tool', { parameters: closedSchema, strict: true }, { parameters: closedSchema, strict: true }),
  tool(
    'a strict tool without parameters',
    { strict: true },
    { parameters: { ...noParameters, required: [], additionalProperties: false }, strict: true },
  ),
  tool(
    'a tool that is not strict',
    { parameters: citySchema, strict: false },
    { parameters: citySchema, strict: false },
  ),
  tool(
    'a tool whose strict is null',
    { parameters: citySchema, strict: null },
    { parameters: citySchema, strict: false },
  ),
  tool(
    'a closed schema of a tool that does not say strict',
    { parameters: closedSchema },
    { parameters: closedSchema, strict: false },
  ),
  tool('a rich schema', { parameters: richSchema }, { parameters: richSchema, strict: false }),
  tool(
    'alternatives at the top of a schema',
    { parameters: { type: 'object', anyOf: [citySchema, noParameters] } },
    { parameters: { type: 'object', anyOf: [citySchema, noParameters] }, strict: false },
  ),
  tool(
    'an empty description of a tool',
    { description: '', parameters: citySchema },
    { description: '', parameters: citySchema, strict: false },
  ),
  tool(
    'a description of a tool that is null',
    { description: null, parameters: citySchema },
    { parameters: citySchema, strict: false },
  ),
  tool(
    'a long description of a tool',
    { description: 'Very exact. '.repeat(500), parameters: citySchema },
    { description: 'Very exact. '.repeat(500), parameters: citySchema, strict: false },
  ),
  {
    name: 'several tools in their order',
    request: declared(
      { name: 'zoom', parameters: citySchema, strict: false },
      { name: 'list', strict: true, parameters: closedSchema },
      { name: 'a' },
    ),
    becomes: {
      input: [userItem('Hi')],
      tools: [
        { type: 'function', name: 'zoom', parameters: citySchema, strict: false },
        { type: 'function', name: 'list', parameters: closedSchema, strict: true },
        { type: 'function', name: 'a', parameters: noParameters, strict: false },
      ],
    },
  },
  {
    name: 'a hundred tools',
    request: declared(...Array.from({ length: 100 }, (_, n) => ({ name: `tool_${n}` }))),
    becomes: {
      input: [userItem('Hi')],
      tools: Array.from({ length: 100 }, (_, n) => ({
        type: 'function',
        name: `tool_${n}`,
        parameters: noParameters,
        strict: false,
      })),
    },
  },
  {
    name: 'the longest name of a tool',
    request: declared({ name: longestName }),
    becomes: {
      input: [userItem('Hi')],
      tools: [{ type: 'function', name: longestName, parameters: noParameters, strict: false }],
    },
  },
  {
    name: 'a tool whose type is left out',
    request: { messages: [question], tools: [{ function: { name: 'f' } }] },
    becomes: {
      input: [userItem('Hi')],
      tools: [{ type: 'function', name: 'f', parameters: noParameters, strict: false }],
    },
  },
  {
    name: 'members of a tool that only another format knows',
    request: {
      messages: [question],
      tools: [
        {
          type: 'function',
          function: { name: 'f', returns: 'text', eager_input_streaming: true },
          cache_control: { type: 'ephemeral' },
          defer_loading: true,
        },
      ],
    },
    becomes: {
      input: [userItem('Hi')],
      tools: [{ type: 'function', name: 'f', parameters: noParameters, strict: false }],
    },
  },
  {
    name: 'an empty list of tools',
    request: { messages: [question], tools: [] },
    becomes: { input: [userItem('Hi')] },
  },
  {
    name: 'tools that are null',
    request: { messages: [question], tools: null },
    becomes: { input: [userItem('Hi')] },
  },
  refused('a tool that the provider runs', [{ type: 'web_search' }], 'tools[0].type'),
  refused('a custom tool', [{ type: 'custom', custom: { name: 'patch' } }], 'tools[0].type'),
  refused('a tool as Responses writes it', [{ type: 'function', name: 'f', parameters: {} }], 'tools[0].function'),
  refused('a tool without a name', [{ type: 'function', function: {} }], 'tools[0].function.name'),
  refused('a tool with an empty name', [{ type: 'function', function: { name: '' } }], 'tools[0].function.name'),
  refused('a space in the name of a tool', [{ function: { name: 'my tool' } }], 'tools[0].function.name'),
  refused('a dot in the name of a tool', [{ function: { name: 'files.read' } }], 'tools[0].function.name'),
  refused(
    'a name of a tool that is too long',
    [{ function: { name: 'ok' } }, { function: { name: `${longestName}x` } }],
    'tools[1].function.name',
  ),
  refused('a list of parameters', [{ function: { name: 'f', parameters: [] } }], 'tools[0].function.parameters'),
  refused('a tool whose strict is a text', [{ function: { name: 'f', strict: 'yes' } }], 'tools[0].function.strict'),
  refused(
    'a description of a tool that is no text',
    [{ function: { name: 'f', description: ['x'] } }],
    'tools[0].function.description',
  ),
  refused('a tool that is a text', ['weather'], 'tools[0]'),
  refused('tools by name', { weather: {} }, 'tools'),
];
