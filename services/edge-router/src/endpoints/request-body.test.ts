import { BufferList, JsonBody, JsonScanner } from '@gateway/json';
import { describe, expect, it } from 'vitest';
import { checkBoolean, requireArray, requiredModel, requireInteger } from './request-body.ts';

function bodyOf(text: string): JsonBody {
  const bytes = Buffer.from(text);
  const scanner = new JsonScanner();
  scanner.push(bytes);
  scanner.end();
  return new JsonBody(new BufferList([bytes]), scanner);
}

const invalid = (field: string) =>
  expect.objectContaining({ code: 'invalid_request', message: expect.stringMatching(new RegExp(`^${field} `)) });

describe('what the relay endpoints check', () => {
  it('takes a model that is a text', () => {
    expect(requiredModel(bodyOf('{"model":"claude"}'))).toBe('claude');
    for (const text of ['{}', '{"model":null}', '{"model":7}', '{"model":""}']) {
      expect(() => requiredModel(bodyOf(text))).toThrow(invalid('model'));
    }
  });

  it('wants an array, and does not look into it', () => {
    expect(() => requireArray(bodyOf('{"input": [{"type":"anything"}, 1]}'), 'input', 'items')).not.toThrow();
    for (const text of ['{}', '{"input":"text"}', '{"input":{}}', '{"input":null}']) {
      expect(() => requireArray(bodyOf(text), 'input', 'items')).toThrow(invalid('input'));
    }
  });

  it('wants an integer', () => {
    expect(() => requireInteger(bodyOf('{"max_tokens": 10}'), 'max_tokens')).not.toThrow();
    for (const text of ['{}', '{"max_tokens":"10"}', '{"max_tokens":1.5}', '{"max_tokens":null}']) {
      expect(() => requireInteger(bodyOf(text), 'max_tokens')).toThrow(invalid('max_tokens'));
    }
  });

  it('wants true or false where something is given', () => {
    for (const text of ['{}', '{"stream":true}', '{"stream":false}']) {
      expect(() => checkBoolean(bodyOf(text), 'stream')).not.toThrow();
    }
    for (const text of ['{"stream":"true"}', '{"stream":1}', '{"stream":null}']) {
      expect(() => checkBoolean(bodyOf(text), 'stream')).toThrow(invalid('stream'));
    }
  });
});
