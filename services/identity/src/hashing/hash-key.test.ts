import { describe, expect, it } from 'vitest';
import { hashKeyOf, parseHashKeys } from './hash-key.ts';

const secret = (fill: number) => Buffer.alloc(32, fill);

describe('hash keys', () => {
  it('are written in base64 or hex, the current one first', () => {
    const text = `${secret(1).toString('base64')}, ${secret(2).toString('hex')}`;
    expect(parseHashKeys(text)).toEqual([hashKeyOf(secret(1)), hashKeyOf(secret(2))]);
  });

  it('have ids that differ with the secret and say nothing of it', () => {
    expect(hashKeyOf(secret(1)).id).not.toBe(hashKeyOf(secret(2)).id);
    expect(hashKeyOf(secret(1)).id).toMatch(/^[0-9a-f]{12}$/);
  });

  it('are refused when short, or no bytes at all', () => {
    expect(parseHashKeys(Buffer.alloc(31, 1).toString('base64'))).toBeUndefined();
    expect(parseHashKeys(`${secret(1).toString('base64')},short`)).toBeUndefined();
    expect(parseHashKeys('this is a sentence, and no key, however long it is made to be')).toBeUndefined();
    expect(() => hashKeyOf(Buffer.alloc(31))).toThrow(RangeError);
  });
});
