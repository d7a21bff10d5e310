import { describe, expect, it } from 'vitest';
import { checkLabel, checkLimits } from './token-rules.ts';

describe('the rules of tokens', () => {
  it('take a label of 1 to 100 characters, whatever their size in bytes', () => {
    for (const label of ['a', 'x'.repeat(100), '🦊'.repeat(100), 'CI – nachtelijk'])
      expect(checkLabel(label)).toBe(label);
  });

  it('take a label without the spaces around it', () => {
    expect(checkLabel('  nightly build ')).toBe('nightly build');
    expect(checkLabel(` ${'x'.repeat(100)} `)).toBe('x'.repeat(100));
  });

  it.each([
    '',
    '   ',
    'x'.repeat(101),
    '🦊'.repeat(101),
    'a\nb',
    'a\n',
    'a\tb',
    'a\u0000b',
    'a\u0085b',
    'a\u200bb',
    'a\u202eb',
    '\ufeffa',
    'a\u2028b',
    'a\u2029b',
    'a\u00adb',
    'a\ud800',
  ])('refuse the label %j', (label) => {
    const refused = { code: 'invalid_request', message: expect.stringMatching(/^label must /) };
    expect(() => checkLabel(label)).toThrow(expect.objectContaining(refused));
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
