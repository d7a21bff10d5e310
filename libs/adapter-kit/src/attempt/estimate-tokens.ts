import { maxTokenCount } from '@gateway/chat';
import type { BufferList } from '@gateway/json';

/** Estimates the tokens of a model's output from its length in characters. */
export function estimateOutputTokens(characters: number): number {
  return Math.min(Math.ceil(characters / charactersPerToken), maxTokenCount);
}

/**
 * Estimates the input tokens of a request body from its size. Images and files appear in it as long
 * strings without a space and count as one image each, because their size says nothing about their
 * tokens.
 */
export function estimateInputTokens(body: BufferList): number {
  const blobs = body.length < minBlobBytes ? noBlobs : measureBlobs(body);
  return Math.ceil((body.length - blobs.bytes) / charactersPerToken) + blobs.count * tokensPerBlob;
}

const charactersPerToken = 4;
/** Except for encoded files, no string is this long without a space. */
const minBlobBytes = 4 * 1024;
const tokensPerBlob = 1_500;

interface Blobs {
  readonly count: number;
  readonly bytes: number;
}

const noBlobs: Blobs = { count: 0, bytes: 0 };

/**
 * A string of `minBlobBytes` or more contains a position that is a multiple of `minBlobBytes`; only
 * these positions are examined.
 */
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
