import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTokenText, parseTokenText, tokenSha256 } from './token-text.ts';

const kinds = fc.constantFrom('service' as const, 'personal' as const, 'operator' as const);

describe('the text of a token', () => {
  it('says its kind', () => {
    fc.assert(
      fc.property(kinds, (kind) => {
        expect(parseTokenText(createTokenText(kind))).toEqual({ kind });
      }),
    );
  });

  it('has a form that a person and a scanner recognise', () => {
    expect(createTokenText('service')).toMatch(/^gw_s_[0-9A-Za-z]{36}$/);
    expect(createTokenText('personal')).toMatch(/^gw_p_[0-9A-Za-z]{36}$/);
    expect(createTokenText('operator')).toMatch(/^gw_a_[0-9A-Za-z]{36}$/);
  });

  it('is refused when any one character is changed, missing or added', () => {
    const anyCharacter = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 });
    fc.assert(
      fc.property(kinds, fc.nat(40), anyCharacter, (kind, position, character) => {
        const text = createTokenText(kind);
        const before = text.slice(0, position);
        const after = text.slice(position + 1);
        fc.pre(character !== text.charAt(position));
        expect(parseTokenText(before + character + after)).toBeUndefined();
        expect(parseTokenText(before + after)).toBeUndefined();
        expect(parseTokenText(before + character + text.slice(position))).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it('is refused for every other letter or digit at every place', () => {
    const text = createTokenText('service');
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_';
    for (let place = 0; place < text.length; place++) {
      for (const character of alphabet.replace(text.charAt(place), '')) {
        expect(parseTokenText(text.slice(0, place) + character + text.slice(place + 1))).toBeUndefined();
      }
    }
  });

  it('is refused with something around it', () => {
    const text = createTokenText('service');
    for (const other of ['', ` ${text}`, `${text} `, `${text}\n`, text.toUpperCase(), text + text]) {
      expect(parseTokenText(other)).toBeUndefined();
    }
  });

  it('differs every time', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => createTokenText('service'))).size).toBe(1_000);
  });

  it('is named by its SHA-256', () => {
    expect(tokenSha256('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
