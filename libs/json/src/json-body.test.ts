import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJsonBody } from './json-body.ts';

describe('a member of a JSON body', () => {
  it('is found however its key is written, and the last one of a repeated key', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, fc.nat(9))), key, (members, [asked]) => {
        const text = `{${members.map(([[, written], value]) => `"${written}":${value}`).join(' , ')}}`;
        const parsed: unknown = JSON.parse(text);
        const expected = new Map(Object.entries(parsed ?? {})).get(asked);
        expect(readJsonBody(Buffer.from(text)).value(asked)).toBe(expected);
      }),
    );
  });

  it('is named in the list of all', () => {
    const body = readJsonBody(Buffer.from('{"a":1,"\\u0062":2,"é":3}'));
    expect(body.namedMembers.map(({ key: name }) => name)).toEqual(['a', 'b', 'é']);
  });
});

/** Few distinct characters, so that keys often repeat; with the notation of the key. */
const key: fc.Arbitrary<readonly [string, string]> = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'm'), fc.boolean()), { maxLength: 3 })
  .map((characters) => [
    characters.map(([character]) => character).join(''),
    characters.map(([character, isEscaped]) => (isEscaped ? escapeOf(character) : character)).join(''),
  ]);

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
