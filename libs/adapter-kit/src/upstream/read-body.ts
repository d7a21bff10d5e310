import type { ExchangeReader } from './exchange-reader.ts';
import { UpstreamError } from './upstream-error.ts';

/** The body, or its first `maxBytes` bytes, or what came of it before it broke off. Throws when the call was cancelled. */
export async function readBody(answer: ExchangeReader, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  while (size < maxBytes) {
    const next = await nextChunks(answer);
    if (next === undefined) break;
    chunks.push(...next);
    size += next.reduce((sum, chunk) => sum + chunk.length, 0);
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/** The whole body. Throws UpstreamError when it breaks off, and `malformed` when it is larger than `maxBytes`. */
export async function readWholeBody(answer: ExchangeReader, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let next = await answer.read(); next !== undefined; next = await answer.read()) {
    chunks.push(...next);
    size += next.reduce((sum, chunk) => sum + chunk.length, 0);
    if (size > maxBytes) throw new UpstreamError('malformed', 'The answer is too large.');
  }
  return Buffer.concat(chunks);
}

async function nextChunks(answer: ExchangeReader): Promise<readonly Uint8Array[] | undefined> {
  try {
    return await answer.read();
  } catch (thrown) {
    if (thrown instanceof UpstreamError && thrown.kind !== 'cancelled') return undefined;
    throw thrown;
  }
}
