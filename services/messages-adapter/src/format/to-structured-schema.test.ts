import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toStructuredSchema } from './convert-schemas.ts';

const string = { type: 'string' };

describe('toStructuredSchema', () => {
  it('closes objects, at every depth', () => {
    const list = { type: 'array', items: { type: 'object', properties: { a: string }, required: ['a'] } };
    expect(toStructuredSchema({ properties: { list, b: string }, required: ['list', 'gone'] })).toEqual({
      schema: {
        type: 'object',
        properties: {
          list: {
            type: 'array',
            items: { type: 'object', properties: { a: string }, required: ['a'], additionalProperties: false },
          },
          b: string,
        },
        required: ['list'],
        additionalProperties: false,
      },
      optionalProperties: 1,
    });
  });

  it('puts limits that the format does not know into the description', () => {
    const age = { type: 'integer', description: 'In years.', minimum: 0, maximum: 150, $comment: 'x' };
    const name = { type: 'string', minLength: 1, pattern: '^[a-z]+$', format: 'iri' };
    expect(propertiesOf({ age, name })).toEqual({
      age: { type: 'integer', description: 'In years. (minimum: 0, maximum: 150)' },
      name: { type: 'string', description: '(minLength: 1, pattern: "^[a-z]+$", format: "iri")' },
    });
  });

  it('keeps formats that are known', () => {
    const when = { type: 'string', format: 'date-time', minLength: 3 };
    expect(propertiesOf({ when })).toEqual({
      when: { type: 'string', format: 'date-time', description: '(minLength: 3)' },
    });
  });

  it('says oneOf as anyOf', () => {
    expect(propertiesOf({ x: { oneOf: [string, { type: 'null' }] } })).toEqual({
      x: { anyOf: [string, { type: 'null' }] },
    });
  });

  it('treats each type of a list', () => {
    const [person, list] = [{ ...objectOf({ a: string }), type: ['object', 'null'] }, { type: ['array', 'null'] }];
    expect(propertiesOf({ person })).toEqual({ person: { ...person, required: [], additionalProperties: false } });
    expect(propertiesOf({ list: { ...list, items: objectOf({ a: string }) } })).toEqual({
      list: { ...list, items: { ...objectOf({ a: string }), required: [], additionalProperties: false } },
    });
    expect(propertiesOf({ x: { type: ['string', 'null'] } })).toEqual({ x: { type: ['string', 'null'] } });
  });

  it('says two combinations as both of them', () => {
    const x = { anyOf: [string, { type: 'null' }], oneOf: [{ const: 'a' }, { type: 'null' }], allOf: [string] };
    expect(propertiesOf({ x })).toEqual({
      x: { anyOf: x.anyOf, allOf: [string, { anyOf: x.oneOf }] },
    });
  });

  it('keeps definitions, cleaned', () => {
    const $defs = { Point: { type: 'object', properties: { x: { type: 'number', minimum: 0 } }, required: ['x'] } };
    const schema = { type: 'object', properties: { at: { $ref: '#/$defs/Point' } }, required: ['at'], $defs };
    expect(toStructuredSchema(schema)?.schema).toMatchObject({
      properties: { at: { $ref: '#/$defs/Point' } },
      $defs: { Point: { additionalProperties: false, properties: { x: { description: '(minimum: 0)' } } } },
    });
  });

  it.each<[string, Record<string, unknown>]>([
    ['is recursive', objectOf({ next: { $ref: '#' } })],
    [
      'is recursive by a definition',
      { ...objectOf({ tree: { $ref: '#/$defs/T' } }), $defs: { T: objectOf({ sub: { $ref: '#/$defs/T' } }) } },
    ],
    ['refers to elsewhere', objectOf({ x: { $ref: 'https://example.com/schema.json' } })],
    ['has an open map', objectOf({ labels: { type: 'object', additionalProperties: string } })],
    ['has an object of any members', objectOf({ any: { type: 'object' } })],
    ['has a value of any kind', objectOf({ any: {} })],
    ['has a list of anything', objectOf({ list: { type: 'array' } })],
    ['has a list of anything, or nothing', objectOf({ list: { type: ['array', 'null'] } })],
    ['has an object of any members, or nothing', objectOf({ any: { type: ['object', 'null'] } })],
    ['has an open map, or nothing', objectOf({ map: { type: ['object', 'null'], additionalProperties: string } })],
    [
      'has an object that is two at once',
      objectOf({ x: { allOf: [objectOf({ a: string }), objectOf({ b: string })] } }),
    ],
    [
      'has an object with alternatives',
      objectOf({ x: { ...objectOf({ a: string }), anyOf: [objectOf({ b: string })] } }),
    ],
    ['has a boolean schema', objectOf({ any: true })],
    ['has an object as a constant', objectOf({ x: { const: { a: 1 } } })],
    ['is no object', { type: 'array', items: string }],
    [
      'has too many optional members',
      objectOf(Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`p${n}`, string]))),
    ],
  ])('gives up on a schema that %s', (_, schema) => {
    expect(toStructuredSchema(schema)).toBeUndefined();
  });

  it('never throws, and leaves the schema it is given alone', () => {
    fc.assert(
      fc.property(
        fc.object({ maxDepth: 4, key: fc.constantFrom('type', 'properties', 'anyOf', 'items', '$ref', 'a') }),
        (schema) => {
          const before = JSON.stringify(schema);
          toStructuredSchema(schema);
          expect(JSON.stringify(schema)).toBe(before);
        },
      ),
    );
  });
});

function objectOf(properties: Record<string, unknown>) {
  return { type: 'object', properties };
}

function propertiesOf(properties: Record<string, unknown>): unknown {
  return toStructuredSchema(objectOf(properties))?.schema.properties;
}
