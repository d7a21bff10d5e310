import fc from 'fast-check';
import { expect, it } from 'vitest';
import { endOfDigits, endOfPlain, endOfWhitespace } from './string-bytes.ts';

it('stops where a byte is a quote, a backslash or a control character, as looking at each would', () => {
  const anyByte = fc.oneof(
    fc.constantFrom(0x1f, 0x20, 0x21, 0x22, 0x23, 0x5b, 0x5c, 0x5d, 0x7f, 0x80, 0xff),
    fc.nat(255),
  );
  const plainByte = fc.constantFrom(0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f, 0x80, 0xa2, 0xdc, 0xff);
  fc.assert(
    fc.property(
      fc.array(plainByte, { maxLength: 12 }),
      fc.array(anyByte, { maxLength: 12 }),
      fc.nat(3),
      (plain, rest, from) => {
        // A view into a larger buffer, like data from a network.
        const bytes = Buffer.from([0x22, ...plain, ...rest, 0x22, 0x22]).subarray(1, -2);
        const first = bytes.findIndex((byte, at) => at >= from && (byte < 0x20 || byte === 0x22 || byte === 0x5c));
        const expected = first >= 0 ? first : Math.max(from, bytes.length);
        expect(endOfPlain(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), from)).toBe(expected);
      },
    ),
    { numRuns: 2_000 },
  );
});

it('knows every single byte, at every offset of four', () => {
  for (let byte = 0; byte < 256; byte++) {
    for (let place = 0; place < 6; place++) {
      const bytes = new Uint8Array(6).fill(0x61);
      bytes[place] = byte;
      const isPlain = byte >= 0x20 && byte !== 0x22 && byte !== 0x5c;
      expect(endOfPlain(new DataView(bytes.buffer), 0)).toBe(isPlain ? 6 : place);
    }
  }
});

it.each([
  ['whitespace', endOfWhitespace, ' \t\n\r'],
  ['digits', endOfDigits, '0123456789'],
] as const)('finds the end of %s, as looking at each byte would', (_what, endOf, characters) => {
  const inRun = fc.constantFrom(...Buffer.from(characters));
  // Bytes that differ from one of the special bytes in a single bit, and arbitrary ones.
  const other = fc.oneof(
    fc.tuple(inRun, fc.nat(7)).map(([byte, bit]) => byte ^ (1 << bit)),
    fc.nat(255),
  );
  fc.assert(
    fc.property(fc.array(inRun, { maxLength: 12 }), fc.array(other, { maxLength: 6 }), fc.nat(3), (run, rest, from) => {
      const bytes = Buffer.from([0x20, ...run, ...rest, 0x20, 0x31]).subarray(1, -2);
      const first = bytes.findIndex((byte, at) => at >= from && !characters.includes(String.fromCharCode(byte)));
      const expected = first >= 0 ? first : Math.max(from, bytes.length);
      expect(endOf(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), from)).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
});
