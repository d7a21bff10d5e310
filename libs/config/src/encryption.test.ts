import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DecryptionError, type Envelope, EnvelopeEncryption, parseEncryptionKeys } from './encryption.ts';

const keyText = (byte: string) => byte.repeat(64);

interface Place {
  readonly accountId: string;
  readonly field: string;
}

function encryptionOf(text: string): EnvelopeEncryption<Place> {
  const keys = parseEncryptionKeys(text) ?? expect.fail('these are no keys');
  return new EnvelopeEncryption(keys, ({ accountId, field }) => [accountId, field]);
}

const first = encryptionOf(`k1:${keyText('1')}`);
const accountId = fc.oneof(fc.string(), fc.constantFrom('p/a', 'p/b', 'p/a","credential'));
const place: fc.Arbitrary<Place> = fc.record({ accountId, field: fc.constantFrom('credential', 'tokens') });
const text = fc.string({ unit: 'binary', maxLength: 300 }).filter((value) => value.isWellFormed());

describe('an encrypted text', () => {
  it('is decrypted at its place as it was', () => {
    fc.assert(
      fc.property(place, text, (at, secret) => {
        expect(first.decrypt(at, first.encrypt(at, secret), z.string())).toBe(secret);
      }),
    );
  });

  it('is decrypted at no other place', () => {
    fc.assert(
      fc.property(place, place, text, (at, elsewhere, secret) => {
        fc.pre(at.accountId !== elsewhere.accountId || at.field !== elsewhere.field);
        expect(() => first.decrypt(elsewhere, first.encrypt(at, secret), z.string())).toThrow(
          new DecryptionError('damaged'),
        );
      }),
    );
  });

  it('is not decrypted once a single character of it is another one, or is missing', () => {
    fc.assert(
      fc.property(place, text, fc.nat(), fc.constantFrom('A', 'Q', '_', '-', '=', ' ', ''), (at, secret, where, by) => {
        const envelope = first.encrypt(at, secret);
        const index = where % envelope.text.length;
        fc.pre(envelope.text[index] !== by);
        const changed = envelope.text.slice(0, index) + by + envelope.text.slice(index + 1);
        expect(() => first.decrypt(at, { ...envelope, text: changed }, z.string())).toThrow(
          new DecryptionError('damaged'),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('never makes the process fail, whatever stands there', () => {
    fc.assert(
      fc.property(place, fc.string(), fc.constantFrom('k1', 'k2', ''), (at, garbage, keyId) => {
        expect(() => first.decrypt(at, { keyId, text: garbage }, z.string())).toThrow(DecryptionError);
        expect(() => first.decrypt(at, { keyId, text: `v1.${garbage}` }, z.string())).toThrow(DecryptionError);
      }),
    );
  });

  it('is another one each time, and shows nothing of what is in it', () => {
    const at: Place = { accountId: 'p/a', field: 'credential' };
    const envelope = Array.from({ length: 1_000 }, () => first.encrypt(at, 'sk-canary-sk-canary').text);
    expect(new Set(envelope.map((one) => one.slice(3, 19))).size).toBe(1_000);
    expect(envelope.join()).not.toContain('canary');
    expect(envelope.join()).not.toContain(Buffer.from('sk-canary').toString('base64url'));
  });
});

describe('several keys', () => {
  const at: Place = { accountId: 'p/a', field: 'tokens' };
  const both = encryptionOf(`k2:${keyText('2')},k1:${keyText('1')}`);

  it('decrypt what any of them encrypted, and encrypt with the first', () => {
    expect(both.currentKeyId).toBe('k2');
    expect(both.encrypt(at, 'x').keyId).toBe('k2');
    expect(both.decrypt(at, first.encrypt(at, 'old'), z.string())).toBe('old');
  });

  it('are recognised as missing', () => {
    expect(() => first.decrypt(at, both.encrypt(at, 'x'), z.string())).toThrow(new DecryptionError('unknown_key'));
  });

  it('do not decrypt what is said to be of another one', () => {
    const envelope: Envelope = { ...both.encrypt(at, 'x'), keyId: 'k1' };
    expect(() => both.decrypt(at, envelope, z.string())).toThrow(new DecryptionError('damaged'));
    const sameBytes = encryptionOf(`k3:${keyText('1')}`);
    expect(() => sameBytes.decrypt(at, { ...first.encrypt(at, 'x'), keyId: 'k3' }, z.string())).toThrow(
      new DecryptionError('damaged'),
    );
  });
});

describe('a setting with keys', () => {
  const base64 = Buffer.alloc(32, 7).toString('base64');

  it.each([
    ['one in base64', `2026:${base64}`, ['2026']],
    ['one in hex', `a_-B:${keyText('f')}`, ['a_-B']],
    ['several, with spaces and line ends', ` b:${base64}, a:${keyText('0')}\n`, ['b', 'a']],
    ['none', '', []],
  ])('may be %s', (_what, given, ids) => {
    expect(parseEncryptionKeys(given)?.map(({ id }) => id)).toEqual(ids);
  });

  it.each([
    ['without an id', base64],
    ['too short', `a:${Buffer.alloc(31).toString('base64')}`],
    ['too long', `a:${Buffer.alloc(33).toString('base64')}`],
    ['no base64', 'a:*'],
    ['of the same id', `a:${base64},a:${keyText('1')}`],
  ])('may not be %s', (_what, given) => {
    expect(parseEncryptionKeys(given)).toBeUndefined();
  });
});
