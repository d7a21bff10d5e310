import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endOfPlainString, readPlainString } from './plain-string.ts';

describe('a plain string', () => {
  it.each([
    ['plain text', '"abc"', 'abc'],
    ['nothing', '""', ''],
    ['escapes as JSON.stringify makes them', '"a\\"b\\\\c\\n\\t\\r\\b\\f"', 'a"b\\c\n\t\r\b\f'],
    ['characters of several bytes', '"é漢😀\u2028"', 'é漢😀\u2028'],
  ])('is read: %s', (_what, json, value) => {
    expect(readPlainString(`x${json}y`, 1)).toEqual({ value, json, end: json.length + 1 });
  });

  it.each([
    ['an escape of four digits', '"\\u0041"'],
    ['an escaped slash', '"\\/"'],
    ['a control character', '"\n"'],
    ['no end', '"abc'],
    ['an escape at the end', '"abc\\'],
    ['no quote', 'abc"'],
  ])('is not: %s', (_what, json) => {
    expect(readPlainString(json, 0)).toBeUndefined();
    expect(endOfPlainString(json, 0)).toBe(-1);
  });

  it('is what JSON.parse reads and JSON.stringify writes, whatever stands there', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '\\',
        '"',
        '\\n',
        '\\"',
        '\\\\',
        '\\/',
        '\\u0041',
        '\\ud83d',
        '\n',
        '\u001f',
        '\u007f',
        'a',
        'é',
        '😀',
      ),
      fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const text = `"${pieces.join('')}"`;
        const read = readPlainString(text, 0);
        if (read === undefined) return;
        expect(JSON.parse(read.json)).toBe(read.value);
        expect(JSON.stringify(read.value)).toBe(read.json);
        expect(text.slice(0, read.end)).toBe(read.json);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is any text that JSON.stringify writes without four digits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        const json = JSON.stringify(value);
        expect(readPlainString(json, 0)?.value).toBe(json.includes('\\u') ? undefined : value);
      }),
    );
  });
});
