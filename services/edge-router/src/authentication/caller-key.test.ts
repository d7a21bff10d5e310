import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callerKey } from './authenticate.ts';

const tokenId = fc.string({ minLength: 4, maxLength: 60 });

describe('callerKey', () => {
  it('is the same for a token every time, and another one for every other token', () => {
    fc.assert(
      fc.property(tokenId, tokenId, (one, other) => {
        expect(callerKey(one)).toBe(callerKey(one));
        expect(callerKey(one) === callerKey(other)).toBe(one === other);
      }),
    );
  });

  it('is short, and has nothing of the token in it', () => {
    const key = callerKey('0198f7c2-3f2e-7c52-9df0-6d6b1f0c9a77');
    expect(key).toMatch(/^[\w-]{20}$/);
    for (const part of '0198f7c2-3f2e-7c52-9df0-6d6b1f0c9a77'.split('-')) expect(key).not.toContain(part);
  });
});
