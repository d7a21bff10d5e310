import { ConnectionError, errorCode } from '../protocol.ts';

/** The bytes that a Huffman-coded string of a header block stands for. @see RFC 7541, section 5.2 */
export function decodeHuffman(coded: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(Math.floor((coded.length * 8) / shortestCode));
  let length = 0;
  let code = 0;
  let bits = 0;
  for (const byte of coded) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      bits++;
      const symbol = symbolOf(code, bits);
      if (symbol === undefined) continue;
      decoded[length++] = symbol;
      code = 0;
      bits = 0;
    }
  }
  // What fills the last byte is the beginning of a code that ends no string: ones.
  if (bits > 7 || code !== 2 ** bits - 1) throw malformed();
  return decoded.subarray(0, length);
}

function symbolOf(code: number, bits: number): number | undefined {
  const row = rows[bits];
  if (row === undefined) throw malformed();
  return row.symbols[code - row.firstCode];
}

function malformed(): ConnectionError {
  return new ConnectionError(errorCode.compressionError, 'a string is not coded as it should be');
}

/** The codes of one length: they count up from the first one, in the order of what they stand for. */
interface Row {
  readonly firstCode: number;
  readonly symbols: readonly number[];
}

/** Lengths of the codes of all bytes, 0 to 255. The code is canonical, so that they are all there is to know. */
const codeBits: readonly number[] = [
  ...[13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  ...[28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  ...[6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  ...[5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  ...[13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  ...[7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  ...[15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  ...[6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  ...[20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  ...[24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  ...[22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  ...[21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  ...[26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  ...[19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  ...[20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  ...[26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
];

const shortestCode = 5;
const longestCode = 30;

const rows: readonly Row[] = rowsOf(codeBits);

function rowsOf(lengths: readonly number[]): Row[] {
  const byLength: Row[] = [];
  let firstCode = 0;
  for (let bits = 0; bits <= longestCode; bits++) {
    const symbols = lengths.flatMap((length, symbol) => (length === bits ? [symbol] : []));
    byLength.push({ firstCode, symbols });
    firstCode = (firstCode + symbols.length) * 2;
  }
  return byLength;
}
