import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BufferList } from './buffer-list.ts';
import { JsonBody } from './json-body.ts';
import { JsonScanner } from './json-scanner.ts';

function scan(text: string | Buffer, chunkBytes = Number.POSITIVE_INFINITY): JsonScanner {
  const bytes = Buffer.from(text);
  const scanner = new JsonScanner();
  for (let at = 0; at < bytes.length; at += chunkBytes) scanner.push(bytes.subarray(at, at + chunkBytes));
  scanner.end();
  return scanner;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isScanned(text: string, chunkBytes?: number): boolean {
  try {
    scan(text, chunkBytes);
    return true;
  } catch {
    return false;
  }
}

describe('JsonScanner', () => {
  it('agrees with JSON.parse on valid texts, however they are split', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.constantFrom(0, 2),
        fc.integer({ min: 1, max: 7 }),
        (value, indent, chunkBytes) => {
          expect(isScanned(JSON.stringify(value, null, indent), chunkBytes)).toBe(true);
        },
      ),
    );
  });

  it('agrees with JSON.parse on texts with one character changed, left out or put in', () => {
    const characters = fc.constantFrom(...'{}[]",:0123.eE+-\\ tfnu\n\u0001'.split(''));
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), characters, fc.constantFrom(0, 1, 2), (value, place, character, kind) => {
        const text = JSON.stringify(value);
        const at = place % text.length;
        const mutant = text.slice(0, at) + (kind === 0 ? '' : character) + text.slice(at + (kind === 2 ? 0 : 1));
        expect(isScanned(mutant)).toBe(isJson(mutant));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    '',
    ' ',
    '01',
    '-',
    '1.',
    '1e',
    '1e+',
    'tru',
    'nul',
    '{"a"}',
    '{"a":1,}',
    '[1,]',
    '[1 2]',
    '"\\x"',
    '"\\u12g4"',
    '{} {}',
    '\ufeff{}',
  ])('refuses %j as JSON.parse does', (text) => {
    expect(isJson(text)).toBe(false);
    expect(() => scan(text)).toThrow(expect.objectContaining({ code: 'invalid_json' }));
  });

  it.each([
    ['within a string', [0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]],
    ['at its end', [0x22, 0xe2, 0x82]],
  ])('refuses text that is not UTF-8 %s', (_, bytes) => {
    expect(() => scan(Buffer.from(bytes))).toThrow(expect.objectContaining({ code: 'invalid_json' }));
  });

  it('finds the top-level members of an object and nothing deeper', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.integer({ min: 1, max: 9 }), (object, chunkBytes) => {
        const text = Buffer.from(JSON.stringify(object, null, 1));
        const body = new JsonBody(new BufferList([text]), scan(text, chunkBytes));
        const parsed: Record<string, unknown> = JSON.parse(text.toString());
        for (const key of Object.keys(parsed)) expect(body.value(key)).toEqual(parsed[key]);
        expect(body.value('no such key')).toBe(parsed['no such key']);
      }),
    );
  });

  it('reads an escaped key and takes the last of a repeated one', () => {
    const text = Buffer.from('{"mod\\u0065l":"a","model":"b"}');
    expect(new JsonBody(new BufferList([text]), scan(text)).value('model')).toBe('b');
  });

  it('refuses a number or word at the first byte that cannot belong to it', () => {
    for (const text of ['no', '-t', '01', '1.e', '1e5.', '1234567890x', 'true1']) {
      const scanner = new JsonScanner();
      scanner.push(Buffer.from(text.slice(0, -1)));
      expect(() => scanner.push(Buffer.from(text.slice(-1)))).toThrow(`at byte ${text.length - 1}`);
    }
  });

  it('refuses what is nested too deep, before the text has ended', () => {
    const scanner = new JsonScanner({ maxDepth: 256 });
    scanner.push(Buffer.from('['.repeat(256)));
    expect(() => scanner.push(Buffer.from('['))).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('knows what it is in at any depth, objects from arrays', () => {
    const deep = (levels: number) => `${'{"a":['.repeat(levels)}1${']}'.repeat(levels)}`;
    for (const levels of [1, 31, 32, 33, 127]) {
      expect(isScanned(deep(levels))).toBe(true);
      expect(isScanned(deep(levels).replace('1]}', '1}]'))).toBe(false);
      expect(isScanned(deep(levels).replace(/\}$/, ']'))).toBe(false);
    }
  });

  it('refuses too many values', () => {
    const scanner = new JsonScanner({ maxTokens: 100 });
    expect(() => scanner.push(Buffer.from(`[${'{},'.repeat(100)}`))).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });

  it('refuses too many members of the top-level object, and only there', () => {
    const object = `{${Array.from({ length: 4 }, (_, n) => `"k${n}":0`).join()}}`;
    expect(() => new JsonScanner({ maxMembers: 3 }).push(Buffer.from(object))).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
    new JsonScanner({ maxMembers: 3 }).push(Buffer.from(`{"inside":${object}}`));
  });

  it('refuses control characters in strings, wherever the text is split', () => {
    for (const character of ['\u0000', '\n', '\u001f']) {
      for (const chunkBytes of [1, 2, 3, 64]) expect(isScanned(`{"key":"ab${character}"}`, chunkBytes)).toBe(false);
    }
    expect(isScanned('{"key":"ab\u007f\u0080"}', 1)).toBe(true);
  });

  it('refuses more than 1 MiB of whitespace in a row, wherever it is and however it arrives', () => {
    const MiB = 1024 * 1024;
    const places = [(blanks: string) => `${blanks}{"a":[1,"b"]}`, (blanks: string) => `{${blanks}"a":[1,"b"]}`];
    places.push(
      (blanks) => `{"a"${blanks}:[1,"b"]}`,
      (blanks) => `{"a":${blanks}[1,"b"]}`,
    );
    places.push(
      (blanks) => `{"a":[${blanks}1,"b"]}`,
      (blanks) => `{"a":[1${blanks},"b"]}`,
    );
    places.push(
      (blanks) => `{"a":[1,${blanks}"b"]}`,
      (blanks) => `{"a":[123456789,"b"${blanks}]}`,
    );
    places.push(
      (blanks) => `{"a":[1,"b"]${blanks}}`,
      (blanks) => `{"a":[]${blanks}}`,
      (blanks) => `{}${blanks}`,
    );
    for (const [n, place] of places.entries()) {
      const blanks = (count: number) =>
        ' \n\r\t'
          .slice(n % 4)
          .padEnd(count, n % 2 === 0 ? ' ' : '\n')
          .slice(0, count);
      for (const chunkBytes of [7_777, 65_536, 3 * MiB]) {
        expect(isScanned(place(blanks(MiB)), chunkBytes)).toBe(true);
        expect(() => scan(place(blanks(MiB + 1)), chunkBytes)).toThrow(
          expect.objectContaining({ code: 'invalid_json', message: expect.stringContaining('whitespace') }),
        );
      }
    }
    expect(isScanned(`{"a":"${' '.repeat(2 * MiB)}"}`, 65_536)).toBe(true);
    expect(isScanned(`[${`1,${' '.repeat(MiB)}`.repeat(3)}1]`, 65_536)).toBe(true);
  });

  it('takes lone surrogates: escapes are not characters yet', () => {
    expect(isScanned('{"a":"\\ud800"}')).toBe(true);
  });
});

describe('JsonBody', () => {
  it('lists the members in the order of the text, repeated keys included', () => {
    const text = Buffer.from('{"b":1, "a": [2], "b":{}}');
    const { namedMembers } = new JsonBody(new BufferList([text]), scan(text));
    expect(
      namedMembers.map(({ key, valueStart, valueEnd }) => [key, text.toString('utf8', valueStart, valueEnd)]),
    ).toEqual([
      ['b', '1'],
      ['a', '[2]'],
      ['b', '{}'],
    ]);
  });

  it('refuses a value that is not an object', () => {
    const text = Buffer.from('[1]');
    expect(() => new JsonBody(new BufferList([text]), scan(text))).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });
});
