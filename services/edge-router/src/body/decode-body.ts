import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { GatewayError } from '@gateway/errors';

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
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

/** The decoded bytes of a request. Close it when done: it is fed by the request until then. */
export interface DecodedBody extends Disposable {
  readonly chunks: AsyncIterable<Buffer>;
}

/** Reads a request through its decoder. The request itself is never destroyed: its connection still owes an answer. */
export function decodeBody(request: IncomingMessage, encoding: Encoding | 'identity'): DecodedBody {
  if (encoding === 'identity') {
    return { chunks: bytesOf(request), [Symbol.dispose]: () => undefined };
  }
  const decoder = decoders[encoding]();
  const cut = () => decoder.destroy(new Error('the upload broke off'));
  request.once('aborted', cut).once('error', cut);
  request.pipe(decoder);
  return {
    chunks: bytesOf(decoder),
    [Symbol.dispose]() {
      request.off('aborted', cut).off('error', cut);
      request.unpipe(decoder);
      decoder.on('error', () => undefined).destroy();
    },
  };
}

function bytesOf(stream: Readable): AsyncIterable<Buffer> {
  return stream.iterator({ destroyOnReturn: false });
}

function isEncoding(name: string): name is Encoding {
  return Object.hasOwn(decoders, name);
}
