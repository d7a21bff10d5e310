import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatheredBytes } from './gathered-bytes.ts';

describe('GatheredBytes', () => {
  it('gives back what was added, in order, whatever was expected', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), fc.nat({ max: 200 }), (pieces, expectedBytes) => {
        const gathered = new GatheredBytes(expectedBytes);
        for (const piece of pieces) {
          const capacity = gathered.capacityWith(Buffer.from(piece));
          gathered.add(Buffer.from(piece));
          expect(gathered.capacity).toBe(capacity);
        }
        expect(gathered.bytes()).toEqual(Buffer.concat(pieces));
      }),
    );
  });

  it('takes no more memory than was expected when no more comes', () => {
    const gathered = new GatheredBytes(10);
    gathered.add(Buffer.alloc(6));
    gathered.add(Buffer.alloc(4));
    expect(gathered.capacity).toBe(10);
  });
});
