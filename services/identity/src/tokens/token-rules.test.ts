import { describe, expect, it } from 'vitest';
import { checkLabel, checkLimits } from './token-rules.ts';

describe('the rules of tokens', () => {
  it('take a label of 1 to 100 characters, whatever their size in bytes', () => {
    for (const label of ['a', 'x'.repeat(100), '🦊'.repeat(100), 'CI – nachtelijk'])
      expect(checkLabel(label)).toBe(label);
  });

  it.each(['', '   ', 'x'.repeat(101), 'a\nb', 'a\u0000b', 'a\ud800'])('refuse the label %j', (label) => {
    expect(() => checkLabel(label)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('take no, one or both limits on a service token, 0 included', () => {
    for (const limits of [
      {},
      { requestsPerMinute: 0 },
      { tokensPerDay: 5 },
      { requestsPerMinute: 1, tokensPerDay: 0 },
    ]) {
      expect(checkLimits('service', limits)).toBe(limits);
    }
  });

  it('refuse limits on a personal token, and limits that are no counts', () => {
    const refused = expect.objectContaining({ code: 'invalid_request' });
    expect(() => checkLimits('personal', { requestsPerMinute: 1 })).toThrow(refused);
    expect(() => checkLimits('personal', { tokensPerDay: 0 })).toThrow(refused);
    expect(() => checkLimits('service', { tokensPerDay: -1 })).toThrow(refused);
    expect(() => checkLimits('service', { tokensPerDay: 2 ** 60 })).toThrow(refused);
    expect(checkLimits('personal', {})).toEqual({});
  });
});
