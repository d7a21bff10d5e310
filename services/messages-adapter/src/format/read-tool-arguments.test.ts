import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readToolArguments } from './convert-tools.ts';

describe('readToolArguments', () => {
  it.each(['', ' \n'])('takes %j as no arguments', (text) => {
    expect(readToolArguments(text)).toEqual({});
  });

  it.each(['{"a":', '[1]', '"text"', 'null', '7', '1.0', '12345678901234567890'])(
    'keeps %s, which is no object, as text',
    (text) => {
      expect(readToolArguments(text)).toEqual({ _arguments: text });
    },
  );

  it('keeps the digits of numbers that JavaScript rounds', () => {
    const text = '{"id":12345678901234567890,"ratio":1.0,"list":[1e400,-0.10]}';
    expect(JSON.stringify(readToolArguments(text))).toBe(text);
  });

  it('keeps the sign of zero', () => {
    expect(JSON.stringify(readToolArguments('{"a":-0}'))).toBe('{"a":-0}');
  });

  it.each([1_000, 1_000_000])('keeps as text what is %i levels deep', (levels) => {
    const text = `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    expect(readToolArguments(text)).toEqual({ _arguments: text });
  });

  it('takes as many levels as anybody needs', () => {
    const text = `{"a":${'['.repeat(199)}${']'.repeat(199)}}`;
    expect(JSON.stringify(readToolArguments(text))).toBe(text);
  });

  it('gives back any object as it was', () => {
    fc.assert(
      fc.property(fc.object(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(readToolArguments(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });
});
