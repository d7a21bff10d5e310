import { describe, expect, it } from 'vitest';
import { ConnectionError } from '../protocol.ts';
import { decodeHuffman } from './huffman.ts';

const decoded = (hex: string) => decodeHuffman(Buffer.from(hex, 'hex')).toString('latin1');

describe('a Huffman-coded string', () => {
  it.each([
    // RFC 7541, appendix C.4 and C.6
    ['f1e3c2e5f23a6ba0ab90f4ff', 'www.example.com'],
    ['a8eb10649cbf', 'no-cache'],
    ['25a849e95ba97d7f', 'custom-key'],
    ['6402', '302'],
    ['d07abe941054d444a8200595040b8166e082a62d1bff', 'Mon, 21 Oct 2013 20:13:21 GMT'],
    ['9d29ad171863c78f0b97c8e9ae82ae43d3', 'https://www.example.com'],
    [
      '94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
      'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
    ],
    ['', ''],
  ])('%s stands for %s', (hex, text) => expect(decoded(hex)).toBe(text));

  it('may hold bytes of the longest codes', () => {
    // Codes of 30 bits for line feed and carriage return, RFC 7541, appendix B; then two bits to fill the byte.
    const bits = `${(0x3fff_fffc).toString(2)}${(0x3fff_fffd).toString(2)}1111`;
    expect(decoded(BigInt(`0b${bits}`).toString(16))).toBe('\n\r');
  });

  it.each([
    ['a whole byte that only fills', 'a8eb10649cbfff'],
    ['zeros that fill', '00'],
    ['the code that ends strings', 'ffffffff'],
  ])('is refused with %s', (_, hex) => expect(() => decoded(hex)).toThrow(ConnectionError));
});
