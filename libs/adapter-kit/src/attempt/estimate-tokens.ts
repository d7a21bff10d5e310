import { maxTokenCount } from '@gateway/chat';
import type { BufferList } from '@gateway/json';
import { EventLoopYield } from '@gateway/time';

/** Estimates the tokens of a model's output from its length in characters. */
export function estimateOutputTokens(characters: number): number {
  return Math.min(Math.ceil(characters / charactersPerToken), maxTokenCount);
}

/**
 * Estimates the input tokens of a request body from its size. Images and files appear in it as long
 * strings without a space and count as one image each, because their size says nothing about their
 * tokens. Yields to the event loop during a large body.
 */
export async function estimateInputTokens(body: BufferList): Promise<number> {
  const blobs = body.length < minBlobBytes ? noBlobs : await measureBlobs(body);
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
async function measureBlobs(body: BufferList): Promise<Blobs> {
  const yields = new EventLoopYield();
  let count = 0;
  let bytes = 0;
  let end = 0;
  for (let at = 0; at < body.length; at = Math.max(at, end - (end % minBlobBytes)) + minBlobBytes) {
    const start = body.lastIndexOf(quotationMark, at) + 1;
    end = await find(body, quotationMark, { from: Math.max(at, start), to: body.length, yields });
    await yields.spend(minBlobBytes);
    if (end - start < minBlobBytes || (await find(body, space, { from: start, to: end, yields })) < end) continue;
    count += 1;
    bytes += end - start;
  }
  return { count, bytes };
}

interface Search {
  readonly from: number;
  readonly to: number;
  readonly yields: EventLoopYield;
}

/** The offset of the first such byte in a range; the end of the range if there is none. */
async function find(body: BufferList, byte: number, { from, to, yields }: Search): Promise<number> {
  for (let at = from; at < to; at += bytesPerSearch) {
    const end = Math.min(at + bytesPerSearch, to);
    let viewStart = at;
    for (const view of body.views(at, end)) {
      const index = view.indexOf(byte);
      if (index >= 0) return viewStart + index;
      viewStart += view.length;
    }
    // Searching is much faster than reading.
    await yields.spend((end - at) / 8);
  }
  return to;
}

const bytesPerSearch = 256 * 1024;
const quotationMark = 0x22;
const space = 0x20;
