import { UpstreamError } from './upstream-error.ts';
import type { UpstreamExchange } from './upstream-exchange.ts';

/** The body, or its first `maxBytes` bytes, or what came of it before it broke off. Throws when the call was cancelled. */
export async function readBody(exchange: UpstreamExchange, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  while (size < maxBytes) {
    const next = await nextChunks(exchange);
    if (next === undefined) break;
    chunks.push(...next);
    size += next.reduce((sum, chunk) => sum + chunk.length, 0);
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/** The whole body. Throws UpstreamError when it breaks off, and `malformed` when it is larger than `maxBytes`. */
export async function readWholeBody(exchange: UpstreamExchange, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let next = await exchange.read(); next !== undefined; next = await exchange.read()) {
    chunks.push(...next);
    size += next.reduce((sum, chunk) => sum + chunk.length, 0);
    if (size > maxBytes) throw new UpstreamError('malformed', 'The answer is too large.');
  }
  return Buffer.concat(chunks);
}

async function nextChunks(exchange: UpstreamExchange): Promise<readonly Uint8Array[] | undefined> {
  try {
    return await exchange.read();
  } catch (thrown) {
    if (thrown instanceof UpstreamError && thrown.kind !== 'cancelled') return undefined;
    throw thrown;
  }
}
