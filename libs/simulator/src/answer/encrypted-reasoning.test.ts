import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encryptReasoning, verifyEncrypted } from './encrypted-reasoning.ts';

const reasoning = { account: 'account-key-1', id: 'rs_1', content: 'First, add.' };
const encrypted = encryptReasoning(reasoning);
const own = { account: reasoning.account };

describe('encrypted reasoning', () => {
  it('looks like the real thing', () => {
    expect(encrypted).toMatch(/^gAAAAA[\w-]{300,400}$/);
  });

  it('is always the same for the same reasoning, and never for another', () => {
    expect(encryptReasoning(reasoning)).toBe(encrypted);
    expect(encryptReasoning({ ...reasoning, id: 'rs_2' })).not.toBe(encrypted);
    expect(encryptReasoning({ ...reasoning, account: 'account-key-2' })).not.toBe(encrypted);
  });

  it('holds neither the credential nor the content', () => {
    const bytes = Buffer.from(encrypted, 'base64url').toString('latin1');
    expect(bytes).not.toContain(reasoning.account);
    expect(bytes).not.toContain(reasoning.content);
  });

  it('is accepted from the account that it was made for, and from no other', () => {
    expect(verifyEncrypted(encrypted, own)).toBe('accepted');
    expect(verifyEncrypted(encrypted, { account: 'account-key-2' })).toBe('other_account');
  });

  it('vouches for its content', () => {
    expect(verifyEncrypted(encrypted, { ...own, content: reasoning.content })).toBe('accepted');
    expect(verifyEncrypted(encrypted, { ...own, content: 'First, multiply.' })).toBe('altered');
  });

  it('is damaged by every change of a single character', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 6, max: encrypted.length - 1 }),
        fc.constantFrom(...'aZ0-_=+'),
        (position, character) => {
          fc.pre(encrypted[position] !== character);
          const changed = encrypted.slice(0, position) + character + encrypted.slice(position + 1);
          expect(verifyEncrypted(changed, own)).toBe('damaged');
        },
      ),
    );
  });

  it.each([
    ['cut short', encrypted.slice(0, -4)],
    ['lengthened', `${encrypted}AAAA`],
    ['padded', `${encrypted}=`],
    ['nothing but its beginning', 'gAAAAA'],
    ['encrypted by another', 'gAAAAABpV3JhcHBlZCBieSBzb21lYm9keSBlbHNl'],
  ])('is damaged when it is %s', (_how, text) => {
    expect(verifyEncrypted(text, own)).toBe('damaged');
  });

  it.each(['', 'ErUBCkYIBxgCIkD', 'opaque bytes', ` ${encrypted}`])(
    'is not seen in %j, which can not be judged',
    (text) => {
      expect(verifyEncrypted(text, own)).toBe('accepted');
    },
  );
});
