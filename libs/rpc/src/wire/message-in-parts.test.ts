import fc from 'fast-check';
import { expect, it } from 'vitest';
import { joined, MessageInParts } from './message-in-parts.ts';

it('is cut into pieces as one buffer would be', () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 6 }), { maxLength: 6 });
  fc.assert(
    fc.property(parts, fc.nat(40), fc.nat(40), (drawn, one, other) => {
      const whole = Buffer.concat(drawn);
      const message = new MessageInParts(drawn);
      const [start, end] = [Math.min(one, other), Math.max(one, other)];
      expect(message.length).toBe(whole.length);
      expect(joined(message.subarray(start, end))).toEqual(whole.subarray(start, end));
    }),
  );
});
