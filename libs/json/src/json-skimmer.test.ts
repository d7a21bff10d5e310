import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonBody } from './json-body.ts';
import { JsonSkimmer } from './json-skimmer.ts';

function skim(text: string | Buffer, chunkBytes = Number.POSITIVE_INFINITY): JsonSkimmer {
  const bytes = Buffer.from(text);
  const skimmer = new JsonSkimmer();
  for (let at = 0; at < bytes.length; at += chunkBytes) skimmer.push(bytes.subarray(at, at + chunkBytes));
  skimmer.end();
  return skimmer;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function skims(text: string, chunkBytes?: number): boolean {
  try {
    skim(text, chunkBytes);
    return true;
  } catch {
    return false;
  }
}

describe('JsonSkimmer', () => {
  it('agrees with JSON.parse on valid texts, however they are split', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.constantFrom(0, 2),
        fc.integer({ min: 1, max: 7 }),
        (value, indent, chunkBytes) => {
          expect(skims(JSON.stringify(value, null, indent), chunkBytes)).toBe(true);
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
        expect(skims(mutant)).toBe(isJson(mutant));
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
    expect(() => skim(text)).toThrow(expect.objectContaining({ code: 'invalid_json' }));
  });

  it('finds the top-level members of an object and nothing deeper', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.integer({ min: 1, max: 9 }), (object, chunkBytes) => {
        const text = Buffer.from(JSON.stringify(object, null, 1));
        const body = new JsonBody(text, skim(text, chunkBytes));
        const parsed: Record<string, unknown> = JSON.parse(text.toString());
        for (const key of Object.keys(parsed)) expect(body.value(key)).toEqual(parsed[key]);
        expect(body.value('no such key')).toBe(parsed['no such key']);
      }),
    );
  });

  it('reads an escaped key and takes the last of a repeated one', () => {
    const text = Buffer.from('{"mod\\u0065l":"a","model":"b"}');
    expect(new JsonBody(text, skim(text)).value('model')).toBe('b');
  });

  it('refuses what is nested too deep, before the text has ended', () => {
    const skimmer = new JsonSkimmer({ maxDepth: 256 });
    skimmer.push(Buffer.from('['.repeat(256)));
    expect(() => skimmer.push(Buffer.from('['))).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('refuses too many values', () => {
    const skimmer = new JsonSkimmer({ maxTokens: 100 });
    expect(() => skimmer.push(Buffer.from(`[${'{},'.repeat(100)}`))).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });
});

describe('JsonBody', () => {
  it('refuses text that is not UTF-8', () => {
    const text = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]);
    expect(() => new JsonBody(text, skim(text))).toThrow(expect.objectContaining({ code: 'invalid_json' }));
  });

  it('refuses a value that is not an object', () => {
    const text = Buffer.from('[1]');
    expect(() => new JsonBody(text, skim(text))).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});
