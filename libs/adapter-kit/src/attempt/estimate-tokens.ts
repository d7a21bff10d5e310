import { maxTokenCount } from '@gateway/chat';
import type { BufferList } from '@gateway/json';

/** Tokens that a model's output is worth, by its length in characters. */
export function estimateOutputTokens(characters: number): number {
  return Math.min(Math.ceil(characters / charactersPerToken), maxTokenCount);
}

/**
 * Input tokens that a request body is worth, by its size. Images and files stand in it as long texts without a space
 * and count as one image each: their size says nothing of their tokens.
 */
export function estimateInputTokens(body: BufferList): number {
  const blobs = body.length < minBlobBytes ? noBlobs : measureBlobs(body);
  return Math.ceil((body.length - blobs.bytes) / charactersPerToken) + blobs.count * tokensPerBlob;
}

const charactersPerToken = 4;
/** No text in quotes is so long without a space, apart from encoded files. */
const minBlobBytes = 4 * 1024;
const tokensPerBlob = 1_500;

interface Blobs {
  readonly count: number;
  readonly bytes: number;
}

const noBlobs: Blobs = { count: 0, bytes: 0 };

/** A text of that length stands across a multiple of it: only there is looked, whatever else the body is made of. */
function measureBlobs(body: BufferList): Blobs {
  let count = 0;
  let bytes = 0;
  let end = 0;
  for (let at = 0; at < body.length; at = Math.max(at, end - (end % minBlobBytes)) + minBlobBytes) {
    const start = body.lastIndexOf(quotationMark, at) + 1;
    const quote = body.indexOf(quotationMark, Math.max(at, start));
    end = quote < 0 ? body.length : quote;
    if (end - start >= minBlobBytes && !body.views(start, end).some((view) => view.includes(space))) {
      count += 1;
      bytes += end - start;
    }
  }
  return { count, bytes };
}

const quotationMark = 0x22;
const space = 0x20;
