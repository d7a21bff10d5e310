import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConversationToolIds, convertToolId } from './convert-tools.ts';

const anyId = fc.oneof(fc.string({ minLength: 1 }), fc.string({ unit: 'grapheme', minLength: 50, maxLength: 90 }));

describe('convertToolId', () => {
  it('leaves an id that fits', () => {
    expect(convertToolId('call_abc-123')).toBe('call_abc-123');
  });

  it('keeps apart ids that differ only in what is replaced or cut off', () => {
    const ids = ['a:b', 'a.b', 'a b', 'x'.repeat(65), 'x'.repeat(66)];
    expect(new Set(ids.map(convertToolId)).size).toBe(ids.length);
  });

  it('gives any id the form that is demanded, always the same, and two ids never one', () => {
    fc.assert(
      fc.property(anyId, anyId, (one, other) => {
        expect(convertToolId(one)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(convertToolId(one)).toBe(convertToolId(one));
        expect(convertToolId(one) === convertToolId(other)).toBe(one === other);
      }),
    );
  });
});

describe('ConversationToolIds', () => {
  it('pairs each result with the first call of its id that has none', () => {
    const ids = new ConversationToolIds();
    const [first, second] = [ids.call('x'), ids.call('x')];
    expect(second).not.toBe(first);
    expect([ids.result('x'), ids.result('x'), ids.result('x')]).toEqual([first, second, undefined]);
    expect(ids.hasUnanswered).toBe(false);
  });

  it('stays quick when one id is used over and over', () => {
    const ids = new ConversationToolIds();
    const given = Array.from({ length: 20_000 }, () => ids.call('same'));
    expect(new Set(given).size).toBe(20_000);
  });
});
