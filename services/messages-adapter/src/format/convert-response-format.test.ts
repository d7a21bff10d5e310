import type { ResponseFormat } from '@gateway/chat';
import { describe, expect, it } from 'vitest';
import { convertResponseFormat } from './convert-response-format.ts';
import { modelFamilyOf } from './model-families.ts';

const current = modelFamilyOf('claude-sonnet-5');
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
const person: ResponseFormat = { type: 'json_schema', name: 'person', description: undefined, schema, strict: true };

describe('convertResponseFormat', () => {
  it('asks for nothing special when the answer is text', () => {
    expect(convertResponseFormat({ type: 'text' }, current, false)).toEqual({});
  });

  it('holds a current model to a schema', () => {
    expect(convertResponseFormat(person, current, false)).toEqual({
      format: { type: 'json_schema', schema: { ...schema, additionalProperties: false } },
    });
  });

  it.each([
    ['an older model', convertResponseFormat(person, modelFamilyOf('claude-opus-4-1'), false)],
    ['an answer that has begun', convertResponseFormat(person, current, true)],
    [
      'a schema that can not be said',
      convertResponseFormat(
        { ...person, schema: { ...schema, additionalProperties: { type: 'string' } } },
        current,
        false,
      ),
    ],
  ])('gives the schema in words to %s', (_, settings) => {
    expect(settings.format).toBeUndefined();
    expect(settings.instruction).toContain('JSON Schema of person');
    expect(settings.instruction).toContain(JSON.stringify(schema).slice(0, -1));
  });

  it.each<ResponseFormat>([{ type: 'json_object' }, { ...person, schema: undefined }])(
    'asks for a JSON object in words',
    (format) => {
      expect(convertResponseFormat(format, current, false)).toEqual({
        instruction: expect.stringContaining('JSON object'),
      });
    },
  );
});
