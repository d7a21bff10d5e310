import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sealReasoning, verifySeal } from './reasoning-seal.ts';

const reasoning = { account: 'account-key-1', id: 'rs_1', content: 'First, add.', createdAtSeconds: 1_800_000_000 };
const seal = sealReasoning(reasoning);
const own = { account: reasoning.account };

describe('a seal', () => {
  it('looks like the real thing', () => {
    expect(seal).toMatch(/^gAAAAA[\w-]{300,400}$/);
  });

  it('is always the same for the same reasoning, and never for another', () => {
    expect(sealReasoning(reasoning)).toBe(seal);
    expect(sealReasoning({ ...reasoning, id: 'rs_2' })).not.toBe(seal);
    expect(sealReasoning({ ...reasoning, account: 'account-key-2' })).not.toBe(seal);
  });

  it('holds neither the credential nor the content', () => {
    const bytes = Buffer.from(seal, 'base64url').toString('latin1');
    expect(bytes).not.toContain(reasoning.account);
    expect(bytes).not.toContain(reasoning.content);
  });

  it('is accepted from the account that it was made for, and from no other', () => {
    expect(verifySeal(seal, own)).toBe('accepted');
    expect(verifySeal(seal, { account: 'account-key-2' })).toBe('other_account');
  });

  it('vouches for its content', () => {
    expect(verifySeal(seal, { ...own, content: reasoning.content })).toBe('accepted');
    expect(verifySeal(seal, { ...own, content: 'First, multiply.' })).toBe('altered');
  });

  it('is damaged by every change of a single character', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 6, max: seal.length - 1 }),
        fc.constantFrom(...'aZ0-_=+'),
        (position, character) => {
          fc.pre(seal[position] !== character);
          const changed = seal.slice(0, position) + character + seal.slice(position + 1);
          expect(verifySeal(changed, own)).toBe('damaged');
        },
      ),
    );
  });

  it.each([
    ['cut short', seal.slice(0, -4)],
    ['lengthened', `${seal}AAAA`],
    ['padded', `${seal}=`],
    ['nothing but its beginning', 'gAAAAA'],
    ['a seal of another make', 'gAAAAABpV3JhcHBlZCBieSBzb21lYm9keSBlbHNl'],
  ])('is damaged when it is %s', (_how, text) => {
    expect(verifySeal(text, own)).toBe('damaged');
  });

  it.each(['', 'ErUBCkYIBxgCIkD', 'opaque bytes', ` ${seal}`])(
    'is not seen in %j, which nobody here can judge',
    (text) => {
      expect(verifySeal(text, own)).toBe('accepted');
    },
  );
});
