import { describe, expect, it } from 'vitest';
import { instanceOfSchema } from './json-instance.ts';

describe('instanceOfSchema', () => {
  it('fills every property with a value of its type', () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer', minimum: 3 },
        unit: { enum: ['C', 'F'] },
        tags: { type: 'array', items: { type: 'string', maxLength: 2 }, minItems: 2 },
        nested: { type: ['object', 'null'], properties: { at: { type: 'string', format: 'date' } } },
        fixed: { const: 7 },
        maybe: { anyOf: [{ type: 'null' }, { type: 'boolean' }] },
      },
    };
    expect(instanceOfSchema(schema)).toEqual({
      city: 'city',
      days: 3,
      unit: 'C',
      tags: ['ta', 'ta'],
      nested: { at: '2026-01-31' },
      fixed: 7,
      maybe: true,
    });
  });

  it('follows references and merges combinations', () => {
    const schema = {
      $defs: { id: { type: 'string', minLength: 9 } },
      allOf: [
        { type: 'object', properties: { a: { $ref: '#/$defs/id' } } },
        { type: 'object', properties: { b: { type: 'number', multipleOf: 5, minimum: 7 } } },
      ],
    };
    expect(instanceOfSchema(schema)).toEqual({ a: 'a--------', b: 10 });
  });

  it('ends for recursive schemas', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } };
    expect(JSON.stringify(instanceOfSchema({ $ref: '#/$defs/node', $defs: { node } })).length).toBeLessThan(200);
    const endless = { ...node, required: ['next'] };
    expect(JSON.stringify(instanceOfSchema({ $ref: '#/$defs/node', $defs: { node: endless } })).length).toBeLessThan(
      300,
    );
  });
});
