import { asObject, type JsonObject } from '@gateway/json';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toStructuredSchema } from './convert-schemas.ts';

const string = { type: 'string' };
const number = { type: 'number' };
const list = { type: 'array', items: string };
const open = { type: 'object', properties: { a: string } };
const closed = { ...open, required: [], additionalProperties: false };
const nothing = {};

/**
 * The treatment of a keyword: it is kept, expressed differently, or named in the description; or
 * the whole schema is described in words. A name does not constrain values, so it is left out.
 */
type Outcome = 'kept' | 'described' | 'in words' | 'a name' | { readonly said: object };
type Row = readonly [keyword: string, value: unknown, schema: object, outcome: Outcome];

/**
 * Every keyword of the vocabularies.
 * @see https://json-schema.org/draft/2020-12/json-schema-core
 */
const vocabularies: Readonly<Record<string, readonly Row[]>> = {
  core: [
    ['$schema', 'https://json-schema.org/draft/2020-12/schema', string, 'a name'],
    ['$vocabulary', {}, string, 'a name'],
    ['$id', 'https://example.com/x', string, 'a name'],
    ['$anchor', 'x', string, 'a name'],
    ['$dynamicAnchor', 'x', string, 'a name'],
    ['$comment', 'For authors.', string, 'a name'],
    ['$ref', '#/$defs/Text', nothing, 'kept'],
    ['$dynamicRef', '#x', string, 'in words'],
    ['$defs', { a: string }, string, 'kept'],
  ],
  applicator: [
    ['prefixItems', [{ const: 'a' }], list, 'in words'],
    ['items', string, { type: 'array' }, 'kept'],
    ['contains', { const: 'a' }, list, 'described'],
    ['additionalProperties', true, open, { said: closed }],
    ['properties', { a: string }, { type: 'object' }, 'kept'],
    ['patternProperties', { '^x': string }, open, 'in words'],
    ['dependentSchemas', { a: { required: ['b'] } }, open, 'described'],
    ['propertyNames', { maxLength: 3 }, open, 'described'],
    ['if', { const: 'a' }, string, 'described'],
    ['then', { minLength: 3 }, string, 'described'],
    ['else', { minLength: 4 }, string, 'described'],
    ['allOf', [string], nothing, 'kept'],
    ['anyOf', [string, number], nothing, 'kept'],
    ['oneOf', [string, number], nothing, { said: { anyOf: [string, number] } }],
    ['not', { const: 'a' }, string, 'described'],
  ],
  unevaluated: [
    ['unevaluatedItems', false, list, 'described'],
    ['unevaluatedProperties', false, open, { said: closed }],
  ],
  validation: [
    ['type', 'string', nothing, 'kept'],
    ['enum', ['a', 'b'], nothing, 'kept'],
    ['const', 'a', nothing, 'kept'],
    ['multipleOf', 2, number, 'described'],
    ['maximum', 2, number, 'described'],
    ['exclusiveMaximum', 2, number, 'described'],
    ['minimum', 2, number, 'described'],
    ['exclusiveMinimum', 2, number, 'described'],
    ['maxLength', 2, string, 'described'],
    ['minLength', 2, string, 'described'],
    ['pattern', '^a', string, 'described'],
    ['maxItems', 2, list, 'described'],
    ['minItems', 2, list, 'described'],
    ['uniqueItems', true, list, 'described'],
    ['maxContains', 2, list, 'described'],
    ['minContains', 2, list, 'described'],
    ['maxProperties', 2, open, 'described'],
    ['minProperties', 1, open, 'described'],
    ['required', ['a'], open, 'kept'],
    ['dependentRequired', { a: ['b'] }, open, 'described'],
  ],
  format: [['format', 'iri', string, 'described']],
  content: [
    ['contentEncoding', 'base64', string, 'described'],
    ['contentMediaType', 'image/png', string, 'described'],
    ['contentSchema', open, string, 'described'],
  ],
  'meta-data': [
    ['title', 'A text', string, 'kept'],
    ['description', 'Any text.', string, 'kept'],
    ['default', 'a', string, 'kept'],
    ['deprecated', true, string, 'described'],
    ['readOnly', true, string, 'described'],
    ['writeOnly', true, string, 'described'],
    ['examples', ['a'], string, 'described'],
  ],
  'of other versions and of others': [
    ['definitions', { a: string }, string, 'kept'],
    ['dependencies', { a: ['b'] }, open, 'described'],
    ['additionalItems', false, list, 'described'],
    ['$recursiveRef', '#', string, 'in words'],
    ['$recursiveAnchor', true, string, 'a name'],
    ['nullable', true, string, 'described'],
    ['x-order', 3, string, 'described'],
  ],
};

describe.each(Object.entries(vocabularies))('a keyword of JSON Schema: %s', (_vocabulary, rows) => {
  it.each(rows)('%s', (keyword, value, schema, outcome) => {
    const cleaned = cleanedMember({ ...schema, [keyword]: value });
    if (outcome === 'in words') return expect(cleaned).toBeUndefined();
    expect.assert(cleaned !== undefined);
    if (outcome === 'kept') expect(cleaned[keyword]).toEqual(value);
    else expect(typeof outcome === 'object' ? outcome.said : { ...cleanedMember(schema) }).toEqual(without(cleaned));
    if (outcome !== 'described') return;
    expect(cleaned.description).toBe(`(${keyword}: ${JSON.stringify(value)})`);
  });
});

describe('keywords of JSON Schema together', () => {
  const anyRows = fc.subarray(Object.values(vocabularies).flat(), { maxLength: 6 });
  const anyType = fc.constantFrom('string', 'object', 'array', ['object', 'null'], ['array', 'string'], undefined);

  it('are kept, said otherwise or named, or all goes in words: none is lost', () => {
    fc.assert(
      fc.property(anyRows, anyType, (rows, type) => {
        const schema = Object.fromEntries(rows.map(([keyword, value]) => [keyword, value]));
        const cleaned = cleanedMember(type === undefined ? schema : { ...schema, type });
        if (cleaned === undefined) return;
        const lost = rows.filter(([keyword, , , outcome]) => {
          const isNamed = String(cleaned.description).includes(`${keyword}: `);
          return !(keyword in cleaned) && !isNamed && outcome !== 'a name' && !isSaidOtherwise(keyword, cleaned);
        });
        expect(lost).toEqual([]);
        if ([cleaned.type].flat().includes('object')) expect(cleaned.additionalProperties).toBe(false);
        if ([cleaned.type].flat().includes('array')) expect(cleaned).toHaveProperty('items');
      }),
      { numRuns: 2_000 },
    );
  });
});

function isSaidOtherwise(keyword: string, cleaned: object): boolean {
  if (keyword === 'oneOf') return 'anyOf' in cleaned;
  return keyword === 'unevaluatedProperties' && 'additionalProperties' in cleaned;
}

/** The translated schema of a member; undefined when it is described in words. */
function cleanedMember(schema: object): JsonObject | undefined {
  const root = { type: 'object', properties: { x: schema }, required: ['x'], $defs: { Text: string } };
  return asObject(asObject(toStructuredSchema(root)?.schema.properties)?.x);
}

function without({ description: _, ...cleaned }: JsonObject): JsonObject {
  return cleaned;
}
