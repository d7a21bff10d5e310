import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Utf8Check } from './string-bytes.ts';

it('says of bytes in chunks what is true of the whole', () => {
  const character = fc.constantFrom('a', 'é', '€', '😀', '\u0800', '\u{10ffff}').map((text) => [...Buffer.from(text)]);
  const byte = fc.constantFrom(0x61, 0x80, 0xbf, 0xc2, 0xe0, 0xe2, 0xed, 0xf0, 0xf4, 0xff).map((each) => [each]);
  const bytes = fc
    .array(fc.oneof({ weight: 8, arbitrary: character }, { weight: 1, arbitrary: byte }), { maxLength: 8 })
    .map((drawn) => Uint8Array.from(drawn.flat()));
  fc.assert(
    fc.property(bytes, fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 12 }), (whole, lengths) => {
      const check = new Utf8Check();
      let isFine = true;
      let start = 0;
      for (const length of [...lengths, whole.length]) {
        isFine &&= check.push(whole.slice(start, start + length));
        start += length;
      }
      expect(isFine && check.isWhole).toBe(isUtf8(whole));
    }),
    { numRuns: 5_000 },
  );
});
