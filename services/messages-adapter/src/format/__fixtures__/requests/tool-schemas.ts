import type Anthropic from '@anthropic-ai/sdk';
import { hi, type RequestCases, sentHi } from './provider-request.ts';

const string = { type: 'string' };
const integer = { type: 'integer' };

/** Schemas of tools that are not strict: whatever JSON Schema has goes along, but for combinations at the top. */
export const toolSchemaCases: RequestCases = [
  ...unchanged({
    'limits of every kind': {
      type: 'object',
      properties: {
        n: { type: 'integer', minimum: 0, exclusiveMaximum: 10, multipleOf: 2, default: 4 },
        s: { type: 'string', minLength: 1, maxLength: 9, pattern: '^\\w+$', format: 'iri' },
        l: { type: 'array', items: string, minItems: 1, maxItems: 3, uniqueItems: true },
      },
      required: ['n'],
      additionalProperties: false,
      minProperties: 1,
    },
    'constants and enums': {
      type: 'object',
      properties: { unit: { enum: ['°C', '°F', null] }, kind: { const: 'weather' } },
    },
    'combinations below the top': {
      type: 'object',
      properties: { at: { oneOf: [string, { type: 'object', properties: { x: integer } }] }, n: { not: string } },
    },
    'definitions and references': {
      type: 'object',
      properties: { at: { $ref: '#/$defs/Point' } },
      $defs: { Point: { type: 'object', properties: { x: integer } } },
    },
    'a reference to itself': { type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } } },
    'open maps': { type: 'object', properties: { labels: { type: 'object', additionalProperties: string } } },
    'notes of its writer': {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://example.com/weather.json',
      title: 'Weather',
      description: 'Where and when.',
      type: 'object',
      properties: { city: { ...string, examples: ['Utrecht'], $comment: 'x' } },
    },
    'odd names of properties': { type: 'object', properties: { 城市: string, 'a b': string, $filter: string } },
    'properties of no kind': { type: 'object', properties: { any: {}, all: true } },
  }),
  ...schemas({
    'alternatives at its top': [
      {
        type: 'object',
        anyOf: [
          { properties: { city: string, unit: string }, required: ['city', 'unit'] },
          { properties: { zip: string, unit: string }, required: ['zip', 'unit'] },
        ],
      },
      { type: 'object', properties: { city: string, unit: string, zip: string }, required: ['unit'] },
    ],
    'exclusive alternatives at its top': [
      {
        oneOf: [
          { type: 'object', properties: { id: string } },
          { type: 'object', properties: { id: integer } },
        ],
      },
      { type: 'object', properties: { id: { anyOf: [string, integer] } } },
    ],
    'parts at its top': [
      {
        type: 'object',
        properties: { a: string },
        required: ['a'],
        allOf: [{ properties: { b: integer }, required: ['b'] }, { properties: { c: string } }],
      },
      { type: 'object', properties: { a: string, b: integer, c: string }, required: ['a', 'b'] },
    ],
    'three alternatives at its top': [
      {
        type: 'object',
        anyOf: [
          { properties: { a: string, b: string }, required: ['a', 'b'] },
          { properties: { a: string, b: string }, required: ['a', 'b'] },
          { properties: { a: string }, required: ['a'] },
        ],
      },
      { type: 'object', properties: { a: string, b: string }, required: ['a'] },
    ],
    'alternatives by reference at its top': [
      {
        anyOf: [{ $ref: '#/$defs/ByCity' }, { $ref: '#/definitions/ByZip' }],
        $defs: { ByCity: { properties: { city: string }, required: ['city'] } },
        definitions: { ByZip: { properties: { zip: string }, required: ['zip'] } },
      },
      {
        type: 'object',
        properties: { city: string, zip: string },
        $defs: { ByCity: { properties: { city: string }, required: ['city'] } },
        definitions: { ByZip: { properties: { zip: string }, required: ['zip'] } },
      },
    ],
    'a choice of what is required at its top': [
      { type: 'object', properties: { a: string, b: string }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      { type: 'object', properties: { a: string, b: string } },
    ],
    'closed alternatives, which together are open': [
      {
        type: 'object',
        properties: { a: string },
        additionalProperties: false,
        oneOf: [{ properties: { b: string } }, { properties: { c: string } }],
      },
      { type: 'object', properties: { a: string, b: string, c: string } },
    ],
  }),
  ...Object.entries({
    array: { type: 'array', items: string },
    text: string,
    'list of types': { type: ['string', 'null'] },
  }).map(([what, parameters]) => ({
    name: `a tool that takes a ${what}`,
    request: { messages: hi, tools: [{ type: 'function', function: { name: 'count', parameters } }] },
    becomes: {
      refused: 'invalid_request' as const,
      field: 'parameters of type object, which those of the tool "count" are not',
    },
  })),
];

function unchanged(cases: Readonly<Record<string, Anthropic.Tool.InputSchema>>): RequestCases {
  return schemas(Object.fromEntries(Object.entries(cases).map(([what, schema]) => [what, [schema, schema]])));
}

function schemas(
  cases: Readonly<Record<string, readonly [parameters: object, sent: Anthropic.Tool.InputSchema]>>,
): RequestCases {
  return Object.entries(cases).map(([what, [parameters, sent]]) => ({
    name: `a tool whose schema has ${what}`,
    request: { messages: hi, tools: [{ type: 'function', function: { name: 'weather', parameters } }] },
    becomes: { messages: sentHi, tools: [{ name: 'weather', input_schema: sent }] },
  }));
}
