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
        tags: { type: 'array', items: { type: 'string' } },
        nested: { type: ['object', 'null'], properties: { at: { $ref: '#/$defs/at' } } },
        fixed: { const: 7 },
        maybe: { anyOf: [{ type: 'null' }, { type: 'boolean' }] },
      },
      $defs: { at: { type: 'string' } },
    };
    expect(instanceOfSchema(schema)).toEqual({
      city: 'city',
      days: 3,
      unit: 'C',
      tags: ['tags'],
      nested: { at: 'at' },
      fixed: 7,
      maybe: true,
    });
  });

  it('ends for recursive schemas', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } };
    const textOf = (schema: object) =>
      JSON.stringify(instanceOfSchema({ $ref: '#/$defs/node', $defs: { node: schema } }));
    expect(textOf(node).length).toBeLessThan(200);
    expect(textOf({ ...node, required: ['next'] }).length).toBeLessThan(300);
  });
});
