/** Pieces of any size as pieces that are handled in one go, as views of them. */
export function* slicesOf(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const piece of pieces) {
    for (let start = 0; start < piece.length; start += sliceBytes) yield piece.subarray(start, start + sliceBytes);
  }
}

const sliceBytes = 256 * 1024;
