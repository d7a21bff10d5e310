import { describe, expect, it } from 'vitest';
import { fieldsOf, typeOf } from './schema-fields.ts';

describe('the fields of a schema', () => {
  it('are those of objects inside it too, with their paths', () => {
    const inner = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } };
    const schema = { type: 'object', properties: { one: inner, many: { type: 'array', items: inner } } };
    expect(fieldsOf(schema).map(({ path, isRequired }) => [path, isRequired])).toEqual([
      ['one', false],
      ['one.text', true],
      ['many', false],
      ['many[].text', true],
    ]);
  });

  it('are one for each path, whichever variants have it', () => {
    const variant = (kind: string) => ({ type: 'object', properties: { kind: { const: kind } } });
    expect(fieldsOf({ anyOf: [variant('a'), variant('b')] })).toEqual([
      { path: 'kind', isRequired: false, type: '`"a"` or `"b"`', description: '' },
    ]);
  });

  it('show their bounds and defaults', () => {
    const schema = { properties: { size: { type: 'integer', minimum: 1, default: 5, description: 'How many.' } } };
    expect(fieldsOf(schema)[0]?.description).toBe('How many. At least 1. Default: `5`.');
  });
});

it('a type is said in words, with links to the schemas that it names', () => {
  const items = { $ref: '#/components/schemas/TextPart' };
  expect(typeOf({ type: ['string', 'null'] })).toBe('text or null');
  expect(typeOf({ anyOf: [{ type: 'string' }, { type: 'array', items }] })).toBe(
    'text or list of [TextPart](#textpart)',
  );
});
