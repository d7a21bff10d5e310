import type { IncomingMessage } from 'node:http';
import { ProviderRefusal } from './provider-format.ts';

/**
 * Reads a request body whole.
 *
 * @throws {ProviderRefusal} 413 when it is larger than the provider takes, 415 when it is compressed.
 */
export async function readBody(request: IncomingMessage, maximumBytes: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new ProviderRefusal({ status: 415, message: `Unsupported content-encoding: ${encoding}` });
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > maximumBytes) throw tooLarge(maximumBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

function tooLarge(maximumBytes: number): ProviderRefusal {
  return new ProviderRefusal({ status: 413, message: `Request exceeds the maximum size of ${maximumBytes} bytes` });
}
