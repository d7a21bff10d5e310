/** Bytes in pieces of these lengths, and the rest. */
export function split(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let offset = 0;
  for (const length of lengths) {
    if (offset >= bytes.length) break;
    pieces.push(bytes.subarray(offset, offset + length));
    offset += length;
  }
  return [...pieces, bytes.subarray(offset)];
}
