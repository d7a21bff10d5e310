const charactersPerToken = 4;

/** Tokens that a model's output is worth, by its length in characters. */
export function estimateOutputTokens(characters: number): number {
  return Math.ceil(characters / charactersPerToken);
}

/**
 * Input tokens that a request body is worth, by its size. Images and files stand in it as long texts without a space
 * and count as one image each: their size says nothing of their tokens.
 */
export function estimateInputTokens(body: Uint8Array): number {
  const blobs = body.length < minBlobBytes ? { count: 0, bytes: 0 } : measureBlobs(body);
  return Math.ceil((body.length - blobs.bytes) / charactersPerToken) + blobs.count * tokensPerBlob;
}

/** No text in quotes is so long without a space, apart from encoded files. */
const minBlobBytes = 4 * 1024;
const tokensPerBlob = 1_500;

/** A text of that length stands across a multiple of it: only there is looked, whatever else the body is made of. */
function measureBlobs(body: Uint8Array): { readonly count: number; readonly bytes: number } {
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  let count = 0;
  let bytes = 0;
  let end = 0;
  for (let at = 0; at < buffer.length; at = Math.max(at, end - (end % minBlobBytes)) + minBlobBytes) {
    const start = buffer.lastIndexOf(quotationMark, at) + 1;
    const quote = buffer.indexOf(quotationMark, Math.max(at, start));
    end = quote < 0 ? buffer.length : quote;
    if (end - start >= minBlobBytes && !buffer.subarray(start, end).includes(space)) {
      count += 1;
      bytes += end - start;
    }
  }
  return { count, bytes };
}

const quotationMark = 0x22;
const space = 0x20;
