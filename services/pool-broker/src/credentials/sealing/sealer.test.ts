import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAccountKeys } from './account-key.ts';
import { type Sealed, type SealedPlace, Sealer } from './sealer.ts';

const keyText = (byte: string) => byte.repeat(64);

function sealerOf(text: string): Sealer {
  return new Sealer(parseAccountKeys(text) ?? expect.fail('these are no keys'));
}

const first = sealerOf(`k1:${keyText('1')}`);
const accountId = fc.oneof(fc.string(), fc.constantFrom('p/a', 'p/b', 'p/a","credential'));
const place: fc.Arbitrary<SealedPlace> = fc.record({ accountId, field: fc.constantFrom('credential', 'tokens') });
const text = fc.string({ unit: 'binary', maxLength: 300 }).filter((value) => value.isWellFormed());

describe('a sealed text', () => {
  it('opens at its place as it was', () => {
    fc.assert(
      fc.property(place, text, (at, secret) => {
        expect(first.open(at, first.seal(at, secret))).toEqual({ kind: 'opened', text: secret });
      }),
    );
  });

  it('opens at no other place', () => {
    fc.assert(
      fc.property(place, place, text, (at, elsewhere, secret) => {
        fc.pre(at.accountId !== elsewhere.accountId || at.field !== elsewhere.field);
        expect(first.open(elsewhere, first.seal(at, secret))).toEqual({ kind: 'refused', reason: 'damaged' });
      }),
    );
  });

  it('does not open once a single character of it is another one, or is missing', () => {
    fc.assert(
      fc.property(place, text, fc.nat(), fc.constantFrom('A', 'Q', '_', '-', '=', ' ', ''), (at, secret, where, by) => {
        const sealed = first.seal(at, secret);
        const index = where % sealed.text.length;
        fc.pre(sealed.text[index] !== by);
        const changed = sealed.text.slice(0, index) + by + sealed.text.slice(index + 1);
        expect(first.open(at, { ...sealed, text: changed })).toEqual({ kind: 'refused', reason: 'damaged' });
      }),
      { numRuns: 500 },
    );
  });

  it('never makes the process fail, whatever stands there', () => {
    fc.assert(
      fc.property(place, fc.string(), fc.constantFrom('k1', 'k2', ''), (at, garbage, keyId) => {
        expect(first.open(at, { keyId, text: garbage }).kind).toBe('refused');
        expect(first.open(at, { keyId, text: `v1.${garbage}` }).kind).toBe('refused');
      }),
    );
  });

  it('is another one each time, and shows nothing of what is in it', () => {
    const at: SealedPlace = { accountId: 'p/a', field: 'credential' };
    const sealed = Array.from({ length: 1_000 }, () => first.seal(at, 'sk-canary-sk-canary').text);
    expect(new Set(sealed.map((one) => one.slice(3, 19))).size).toBe(1_000);
    expect(sealed.join()).not.toContain('canary');
    expect(sealed.join()).not.toContain(Buffer.from('sk-canary').toString('base64url'));
  });
});

describe('several keys', () => {
  const at: SealedPlace = { accountId: 'p/a', field: 'tokens' };
  const both = sealerOf(`k2:${keyText('2')},k1:${keyText('1')}`);

  it('open what any of them sealed, and seal with the first', () => {
    expect(both.currentKeyId).toBe('k2');
    expect(both.seal(at, 'x').keyId).toBe('k2');
    expect(both.open(at, first.seal(at, 'old'))).toEqual({ kind: 'opened', text: 'old' });
  });

  it('are told apart when one is missing', () => {
    expect(first.open(at, both.seal(at, 'x'))).toEqual({ kind: 'refused', reason: 'unknown_key' });
  });

  it('do not open what is said to be of another one', () => {
    const sealed: Sealed = { ...both.seal(at, 'x'), keyId: 'k1' };
    expect(both.open(at, sealed)).toEqual({ kind: 'refused', reason: 'damaged' });
    const sameBytes = sealerOf(`k3:${keyText('1')}`);
    expect(sameBytes.open(at, { ...first.seal(at, 'x'), keyId: 'k3' })).toEqual({ kind: 'refused', reason: 'damaged' });
  });
});

describe('ACCOUNT_KEYS', () => {
  const base64 = Buffer.alloc(32, 7).toString('base64');

  it.each([
    ['one in base64', `2026:${base64}`, ['2026']],
    ['one in hex', `a_-B:${keyText('f')}`, ['a_-B']],
    ['several, with spaces and line ends', ` b:${base64}, a:${keyText('0')}\n`, ['b', 'a']],
    ['none', '', []],
  ])('may be %s', (_what, given, ids) => {
    expect(parseAccountKeys(given)?.map(({ id }) => id)).toEqual(ids);
  });

  it.each([
    ['without an id', base64],
    ['too short', `a:${Buffer.alloc(31).toString('base64')}`],
    ['too long', `a:${Buffer.alloc(33).toString('base64')}`],
    ['no base64', 'a:*'],
    ['of the same id', `a:${base64},a:${keyText('1')}`],
  ])('may not be %s', (_what, given) => {
    expect(parseAccountKeys(given)).toBeUndefined();
  });
});
