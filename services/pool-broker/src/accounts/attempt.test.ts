import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callerOfLease, newLeaseId, toCallerId } from './attempt.ts';

describe('a lease id', () => {
  it('names the caller whose share it counts against', () => {
    fc.assert(
      fc.property(fc.string(), (caller) => {
        const id = toCallerId(caller);
        expect(callerOfLease(newLeaseId(id))).toBe(id);
        expect(id.length).toBe(caller === '' ? 0 : 22);
      }),
    );
  });

  it('names no caller when it is not one of ours', () => {
    for (const text of ['', 'lease', 'a.b', `a.${'x'.repeat(23)}`, `a.b.${'x'.repeat(22)}`]) {
      expect(callerOfLease(text)).toBe('');
    }
  });
});
