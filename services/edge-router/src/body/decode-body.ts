import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { finished, type Readable } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { GatewayError } from '@gateway/errors';
import { type BodyRules, encodedLimitBytes, tooLarge } from './body-rules.ts';

const chunkSize = 64 * 1024;

/** A frame may ask for a window of 128 MiB; over HTTP 8 MiB is the most. @see https://www.rfc-editor.org/rfc/rfc9659 */
const zstdOptions = { chunkSize, params: { [constants.ZSTD_d_windowLogMax]: 23 } };

/** A decoder for each encoding, given the first byte of what it will decode. */
const decoders = {
  gzip: () => createGunzip({ chunkSize }),
  'x-gzip': () => createGunzip({ chunkSize }),
  deflate: (firstByte: number) =>
    hasZlibHeader(firstByte) ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize }),
  br: () => createBrotliDecompress({ chunkSize }),
  zstd: () => createZstdDecompress(zstdOptions),
} as const;

type Encoding = keyof typeof decoders;

/** How a request body is encoded. Throws `unsupported_encoding` for what the endpoint does not take. @see spec "Codes" */
export function bodyEncoding(request: IncomingMessage, acceptsCompression: boolean): Encoding | 'identity' {
  const named = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (named === 'identity' || named === '') return 'identity';
  if (acceptsCompression && isEncoding(named)) return named;
  const taken = acceptsCompression
    ? `This endpoint takes ${Object.keys(decoders).join(', ')}.`
    : 'This endpoint takes no compression.';
  throw new GatewayError('unsupported_encoding', `The content-encoding is not supported. ${taken}`);
}

/**
 * The decoded bytes of a request; no more is decoded than is read. Throws `body_too_large` when far more is sent than can
 * decode to the limit, and something else when the bytes can't be decoded, when more follows their end, and when the
 * upload breaks off. The request itself is never destroyed: its connection still owes an answer.
 */
export async function* decodeBody(
  request: IncomingMessage,
  encoding: Encoding,
  rules: BodyRules,
): AsyncGenerator<Buffer> {
  const decoder = decoders[encoding](await firstByteOf(request));
  let receivedBytes = 0;
  const count = (chunk: Buffer) => {
    receivedBytes += chunk.length;
    if (receivedBytes > encodedLimitBytes(rules)) decoder.destroy(tooLarge(rules));
  };
  const stopWatching = finished(request, { writable: false }, (fault) => {
    if (fault) decoder.destroy(fault);
  });
  request.on('data', count).pipe(decoder);
  try {
    yield* bytesOf(decoder);
    request.unpipe(decoder).off('data', count);
    if (receivedBytes > decoder.bytesWritten || (await hasMore(request))) throw new Error('something follows the end');
  } finally {
    stopWatching();
    request.unpipe(decoder).off('data', count);
    decoder.on('error', () => undefined).destroy();
  }
}

/** Looks at the first byte, and leaves it in the request. Throws when there is none. */
async function firstByteOf(request: IncomingMessage): Promise<number> {
  while (true) {
    const chunk: unknown = request.read();
    if (chunk instanceof Buffer) {
      request.unshift(chunk);
      return chunk[0] ?? 0;
    }
    if (request.complete || request.destroyed) throw new Error('there is nothing to decode');
    await once(request, 'readable');
  }
}

async function hasMore(request: IncomingMessage): Promise<boolean> {
  for await (const chunk of bytesOf(request)) {
    if (chunk.length > 0) return true;
  }
  return false;
}

function bytesOf(stream: Readable): AsyncIterable<Buffer> {
  return stream.iterator({ destroyOnReturn: false });
}

/** Clients mean either format by "deflate": with the header of zlib, whose first byte ends in 8, or without any. */
function hasZlibHeader(firstByte: number): boolean {
  return (firstByte & 0x0f) === 8;
}

function isEncoding(name: string): name is Encoding {
  return Object.hasOwn(decoders, name);
}
