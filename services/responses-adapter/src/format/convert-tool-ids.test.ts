import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertToolId } from './convert-tools.ts';

describe('convertToolId', () => {
  it('keeps what the provider takes and makes the rest fit, the same way each time', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 200 }), (id) => {
        const converted = convertToolId(id);
        expect(converted.length).toBeLessThanOrEqual(64);
        expect(convertToolId(id)).toBe(converted);
        expect(convertToolId(converted)).toBe(converted);
        if (id.length <= 64) expect(converted).toBe(id);
      }),
    );
  });

  it('keeps long ids apart that begin alike', () => {
    const start = 'toolu_'.repeat(12);
    expect(convertToolId(`${start}a`)).not.toBe(convertToolId(`${start}b`));
  });
});
