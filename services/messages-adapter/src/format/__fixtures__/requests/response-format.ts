import type Anthropic from '@anthropic-ai/sdk';
import { assistant, hi, type RequestCases, sentHi, text } from './provider-request.ts';

const string = { type: 'string' };
const person = { type: 'object', properties: { name: string }, required: ['name'] };
const closedPerson = { ...person, additionalProperties: false };
const jsonObjectOnly = 'Answer with one JSON object and nothing else: no text around it, no code fence.';

export const responseFormatCases: RequestCases = [
  ...formats({
    'a format of text': [{ type: 'text' }, { messages: sentHi }],
    'a format that is null': [null, { messages: sentHi }],
    'a JSON object': [{ type: 'json_object' }, { system: jsonObjectOnly, messages: sentHi }],
    'a schema of nothing but a name': [jsonSchema({}), { system: jsonObjectOnly, messages: sentHi }],
    'a schema that is null': [jsonSchema({ schema: null }), { system: jsonObjectOnly, messages: sentHi }],
    'a schema': [jsonSchema({ schema: closedPerson }), held(closedPerson)],
    'a schema with every member': [
      jsonSchema({ schema: closedPerson, description: 'A person.', strict: true }),
      held(closedPerson),
    ],
    'a schema that is not strict': [jsonSchema({ schema: closedPerson, strict: false }), held(closedPerson)],
    'a schema whose objects are open': [jsonSchema({ schema: person }), held(closedPerson)],
    'a schema with objects and lists in it': [
      jsonSchema({
        schema: {
          type: 'object',
          properties: { people: { type: 'array', items: person }, note: { type: ['string', 'null'] } },
          required: ['people'],
        },
      }),
      held({
        type: 'object',
        properties: { people: { type: 'array', items: closedPerson }, note: { type: ['string', 'null'] } },
        required: ['people'],
        additionalProperties: false,
      }),
    ],
    'a schema with alternatives': [
      jsonSchema({ schema: objectOf({ x: { oneOf: [string, { type: 'null' }] }, y: { anyOf: [string, person] } }) }),
      held(closed({ x: { anyOf: [string, { type: 'null' }] }, y: { anyOf: [string, closedPerson] } })),
    ],
    'a schema with enums, constants and defaults': [
      jsonSchema({
        schema: objectOf({ a: { enum: ['x', 'y'] }, b: { const: 1 }, c: { type: 'boolean', default: true } }),
      }),
      held(closed({ a: { enum: ['x', 'y'] }, b: { const: 1 }, c: { type: 'boolean', default: true } })),
    ],
    'a schema with limits, which go into the description': [
      jsonSchema({
        schema: objectOf({
          age: { type: 'integer', description: 'In years.', minimum: 0, maximum: 150 },
          code: { type: 'string', pattern: '^[A-Z]+$', minLength: 2 },
          tags: { type: 'array', items: string, maxItems: 3, uniqueItems: true },
        }),
      }),
      held(
        closed({
          age: { type: 'integer', description: 'In years. (minimum: 0, maximum: 150)' },
          code: { type: 'string', description: '(pattern: "^[A-Z]+$", minLength: 2)' },
          tags: { type: 'array', items: string, description: '(maxItems: 3, uniqueItems: true)' },
        }),
      ),
    ],
    'a schema with keywords that the format does not know, which go into the description': [
      jsonSchema({
        schema: objectOf({
          tags: { type: 'array', items: string, contains: { const: 'a' } },
          who: { ...person, minProperties: 1, dependentRequired: { name: ['age'] } },
        }),
      }),
      held(
        closed({
          tags: { type: 'array', items: string, description: '(contains: {"const":"a"})' },
          who: { ...closedPerson, description: '(minProperties: 1, dependentRequired: {"name":["age"]})' },
        }),
      ),
    ],
    'a schema whose objects and lists may be null': [
      jsonSchema({
        schema: objectOf({
          who: { ...person, type: ['object', 'null'] },
          people: { type: ['array', 'null'], items: person },
        }),
      }),
      held(
        closed({
          who: { ...closedPerson, type: ['object', 'null'] },
          people: { type: ['array', 'null'], items: closedPerson },
        }),
      ),
    ],
    'a schema with formats': [
      jsonSchema({
        schema: objectOf({ at: { type: 'string', format: 'date-time' }, iri: { type: 'string', format: 'iri' } }),
      }),
      held(
        closed({
          at: { type: 'string', format: 'date-time' },
          iri: { type: 'string', description: '(format: "iri")' },
        }),
      ),
    ],
    'a schema with definitions': [
      jsonSchema({ schema: { ...objectOf({ who: { $ref: '#/$defs/Person' } }), $defs: { Person: person } } }),
      held({ ...closed({ who: { $ref: '#/$defs/Person' } }), $defs: { Person: closedPerson } }),
    ],
    'a schema with as many optional members as there may be': [
      jsonSchema({ schema: { type: 'object', properties: properties(24) } }),
      held({ type: 'object', properties: properties(24), required: [], additionalProperties: false }),
    ],
  }),
  ...asInstructions({
    'a schema with too many optional members': { type: 'object', properties: properties(25) },
    'a schema that refers to itself': objectOf({ next: { $ref: '#' } }),
    'a schema with an open map': objectOf({ labels: { type: 'object', additionalProperties: string } }),
    'a schema with an open map of known members': objectOf({
      labels: { type: 'object', properties: { a: string }, additionalProperties: string },
    }),
    'a schema with values of any kind': objectOf({ any: {} }),
    'a schema with an object of any members or null': objectOf({ any: { type: ['object', 'null'] } }),
    'a schema with a list of anything or null': objectOf({ list: { type: ['array', 'null'] } }),
    'a schema with an object that is two at once': objectOf({ who: { allOf: [person, objectOf({ age: string })] } }),
    'a schema of a list': { type: 'array', items: string },
    'a schema of alternatives': { anyOf: [person, string] },
  }),
  {
    name: 'a schema for a model that knows none',
    model: 'claude-opus-4-1-20250805',
    request: { messages: hi, response_format: jsonSchema({ schema: person }) },
    becomes: { system: inWords('person', person), messages: sentHi },
  },
  {
    name: 'a described schema for a model that knows none',
    model: 'claude-sonnet-4-20250514',
    request: { messages: hi, response_format: jsonSchema({ schema: person, description: 'Who it is.' }) },
    becomes: { system: inWords('person (Who it is.)', person), messages: sentHi },
  },
  {
    name: 'a schema for an answer that has begun',
    model: 'claude-sonnet-4-5',
    request: {
      messages: [...hi, { role: 'assistant', content: '{"name":' }],
      response_format: jsonSchema({ schema: person }),
    },
    becomes: { system: inWords('person', person), messages: [...sentHi, assistant(text('{"name":'))] },
  },
  {
    name: 'a JSON object after the instructions of the client',
    request: { messages: [{ role: 'system', content: 'Be brief.' }, ...hi], response_format: { type: 'json_object' } },
    becomes: { system: `Be brief.\n\n${jsonObjectOnly}`, messages: sentHi },
  },
  {
    name: 'a JSON object asked for by the system alone',
    request: { messages: [{ role: 'system', content: 'Name a city.' }], response_format: { type: 'json_object' } },
    becomes: { system: jsonObjectOnly, messages: [{ role: 'user', content: [text('Name a city.')] }] },
  },
  {
    name: 'a schema and effort',
    request: { messages: hi, response_format: jsonSchema({ schema: person }), reasoning_effort: 'low' },
    becomes: {
      messages: sentHi,
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'low', format: { type: 'json_schema', schema: closedPerson } },
    },
  },
  {
    name: 'a schema and tools, one of which the model can not be forced to call',
    model: 'claude-opus-5-5',
    request: {
      messages: hi,
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: 'required',
      response_format: { type: 'json_object' },
    },
    becomes: {
      system: `Your next answer must call at least one of the tools.\n\n${jsonObjectOnly}`,
      messages: sentHi,
      tools: [{ name: 'f', input_schema: { type: 'object', properties: {} } }],
      thinking: { type: 'adaptive', display: 'summarized' },
    },
  },
  ...refused({
    'an unknown format': [{ type: 'xml' }, 'response_format.type'],
    'a format without a type': [{}, 'response_format.type'],
    'a format that is a word': ['json_object', 'response_format'],
    'a format without its schema': [{ type: 'json_schema' }, 'response_format.json_schema'],
    'a schema without a name': [
      { type: 'json_schema', json_schema: { schema: person } },
      'response_format.json_schema.name',
    ],
    'a schema that is a text': [jsonSchema({ schema: '{}' }), 'response_format.json_schema.schema'],
    'a schema whose strictness is a word': [jsonSchema({ strict: 'yes' }), 'response_format.json_schema.strict'],
    'a schema whose description is a number': [
      jsonSchema({ description: 1 }),
      'response_format.json_schema.description',
    ],
  }),
];

type Sent = {
  readonly system?: string;
  readonly messages: Anthropic.MessageParam[];
  readonly output_config?: Anthropic.OutputConfig;
};

function formats(cases: Readonly<Record<string, readonly [format: object | null, sent: Sent]>>): RequestCases {
  return Object.entries(cases).map(([name, [response_format, becomes]]) => ({
    name,
    request: { messages: hi, response_format },
    becomes,
  }));
}

function asInstructions(schemas: Readonly<Record<string, object>>): RequestCases {
  return Object.entries(schemas).map(([name, schema]) => ({
    name: `${name}, in words`,
    request: { messages: hi, response_format: jsonSchema({ schema }) },
    becomes: { system: inWords('person', schema), messages: sentHi },
  }));
}

function refused(cases: Readonly<Record<string, readonly [format: unknown, field: string]>>): RequestCases {
  return Object.entries(cases).map(([name, [response_format, field]]) => ({
    name,
    request: { messages: hi, response_format },
    becomes: { refused: 'invalid_request', field },
  }));
}

function jsonSchema(members: object) {
  return { type: 'json_schema', json_schema: { name: 'person', ...members } };
}

/** The instruction for a schema that the model can not be held to. */
function inWords(title: string, schema: object): string {
  return [
    'Answer with one JSON value and nothing else: no text around it, no code fence.',
    `It must be valid against this JSON Schema of ${title}:`,
    JSON.stringify(schema),
  ].join('\n');
}

function held(schema: Record<string, unknown>): Sent {
  return { messages: sentHi, output_config: { format: { type: 'json_schema', schema } } };
}

function objectOf(members: Readonly<Record<string, unknown>>) {
  return { type: 'object', properties: members, required: Object.keys(members) };
}

function closed(members: Readonly<Record<string, unknown>>) {
  return { ...objectOf(members), additionalProperties: false };
}

function properties(count: number) {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, string]));
}
