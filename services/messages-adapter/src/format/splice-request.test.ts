import { readJsonBody } from '@gateway/json';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spliceRequest } from './relay-translator.ts';

const spliced = (body: string | Uint8Array, model = 'claude-x') =>
  Buffer.concat(spliceRequest(readJsonBody(Buffer.from(body)), model)).toString();

describe('spliceRequest', () => {
  it.each([
    ['{"model":"gateway/claude","max_tokens":1}', '{"model":"claude-x","max_tokens":1}'],
    ['{"max_tokens":1,"model" :\t"m"\r\n}', '{"max_tokens":1,"model" :\t"claude-x"\r\n}'],
    ['{"mod\\u0065l":"m"}', '{"mod\\u0065l":"claude-x"}'],
    ['{"model":"a","model":"b"}', '{"model":"claude-x","model":"claude-x"}'],
    ['{"system":{"model":"s"},"model":"m"}', '{"system":{"model":"s"},"model":"claude-x"}'],
    ['{"seed":12345678901234567890,"model":"m","x":1.0}', '{"seed":12345678901234567890,"model":"claude-x","x":1.0}'],
  ])('%s becomes %s', (body, expected) => {
    expect(spliced(body)).toBe(expected);
  });

  it('escapes what a model’s name may hold', () => {
    expect(JSON.parse(spliced('{"model":"m"}', 'a"\\b'))).toEqual({ model: 'a"\\b' });
  });

  it.each([
    ['no model', '{"models":"m"}', 'invalid_request'],
    ['no object', '["model"]', 'invalid_request'],
    ['no JSON', '{"model":"m"', 'invalid_json'],
    ['no UTF-8', Buffer.from([...Buffer.from('{"model":"'), 0xff, ...Buffer.from('"}')]), 'invalid_json'],
  ])('is refused with %s', (_, body, code) => {
    expect(() => spliced(body)).toThrow(expect.objectContaining({ code }));
  });

  it('changes the value of every model and not one byte besides, whatever is sent', () => {
    fc.assert(
      fc.property(anyBody, fc.string({ minLength: 1 }), (bodyOf, model) => {
        expect(spliced(bodyOf(undefined), model)).toBe(bodyOf(JSON.stringify(model)));
      }),
    );
  });
});

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });
const number = fc.oneof(
  fc.bigInt().map(String),
  fc.constantFrom('12345678901234567890', '-0', '0.10', '1E400', '1e-7', '100000000000000000000000.5'),
);
const plainString = fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text.toWellFormed()));
const string = fc.oneof(plainString, fc.constantFrom('"\\u0041\\/\\ud83d\\ude00"', '"\\ud83d"', '"model"', '"\u2028"'));
/** Few keys, so that some repeat. */
const key = fc.constantFrom('"a"', '"b"', '"\\u0061"', '"type"', '"model"', '""');
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('true', 'false', 'null'),
    number,
    string,
    fc.array(tie('member'), { maxLength: 4 }).map((members) => `{${members.join(',')}}`),
    fc.array(tie('padded'), { maxLength: 4 }).map((values) => `[${values.join(',')}]`),
  ),
  padded: fc.tuple(space, tie('value'), space).map((parts) => parts.join('')),
  member: fc
    .tuple(space, key, space, tie('padded'))
    .map(([before, name, after, text]) => `${before}${name}${after}:${text}`),
}));

const modelKey = fc.constantFrom('"model"', '"mod\\u0065l"', '"\\u006d\\u006F\\u0064\\u0065\\u006C"');
const otherKey = fc.constantFrom('"messages"', '"stream"', '"max_tokens"', '"Model"', '"models"', '"x-unknown"');
const member = (name: fc.Arbitrary<string>) =>
  fc
    .tuple(space, name, space, space, value, space)
    .map(([a, keyText, b, c, text, d]) => ({ start: `${a}${keyText}${b}:${c}`, value: String(text), end: d }));

/** A body with at least one model, as sent or with another value for each. */
const anyBody = fc
  .tuple(
    space,
    fc.array(member(fc.oneof(otherKey, modelKey)), { maxLength: 5 }),
    member(modelKey),
    fc.array(member(otherKey), { maxLength: 5 }),
    space,
  )
  .map(([head, earlier, last, later, tail]) => (model: string | undefined) => {
    const text = ({ start, value: sent, end }: { start: string; value: string; end: string }) => {
      const isModel = JSON.parse(/"[^"]*"/.exec(start)?.[0] ?? '""') === 'model';
      return start + (isModel && model !== undefined ? model : sent) + end;
    };
    return `${head}{${[...earlier, last, ...later].map(text).join(',')}}${tail}`;
  });
