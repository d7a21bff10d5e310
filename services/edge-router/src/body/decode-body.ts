import { pipeline } from 'node:stream/promises';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { GatewayError } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';

export interface Decoding {
  readonly encoding: Encoding;
  /** Resolves when bytes may be decoded. The permit is given back when they are. */
  readonly permit: () => Promise<Disposable>;
  /** Reads what was decoded; no more is decoded than it reads. When it fails, it sees to it that `encoded` fails too. */
  readonly read: (decoded: AsyncIterable<Buffer>) => Promise<JsonBody>;
}

/**
 * Decodes bytes as they come. Throws what reading them throws, and something when they can't be decoded, when they end too early or
 * when more follows their end.
 */
export async function decodeBody(
  encoded: AsyncGenerator<Buffer>,
  { encoding, permit, read }: Decoding,
): Promise<JsonBody> {
  const first = await encoded.next();
  if (first.done === true) throw new GatewayError('invalid_body', 'The body is empty, which no encoding allows.');
  async function* permitted(): AsyncGenerator<Buffer> {
    for (let next: IteratorResult<Buffer> = first; next.done !== true; next = await encoded.next()) {
      using _permit = await permit();
      // Goes on when the decoder has taken all of it.
      yield next.value;
    }
  }
  try {
    return await pipeline(permitted(), decoders[encoding](first.value[0] ?? 0), read);
  } finally {
    await encoded.return(undefined);
  }
}

/** The decoder asks for the next bytes when it is through with those before. */
const options = { chunkSize: 64 * 1024, writableHighWaterMark: 1 };
const optionsOfOne = { ...options, rejectGarbageAfterEnd: true };

/** A decoder for each encoding, given the first byte of what it will decode. Files of gzip and zstd may have several parts. */
const decoders = {
  gzip: () => createGunzip(options),
  'x-gzip': () => createGunzip(options),
  deflate: (firstByte: number) =>
    hasZlibHeader(firstByte) ? createInflate(optionsOfOne) : createInflateRaw(optionsOfOne),
  br: () => createBrotliDecompress(optionsOfOne),
  zstd: () => createZstdDecompress(zstdOptions),
} as const;

/** A frame may ask for a window of 128 MiB; over HTTP 8 MiB is the most. @see https://www.rfc-editor.org/rfc/rfc9659 */
const zstdOptions = { ...optionsOfOne, params: { [constants.ZSTD_d_windowLogMax]: 23 } };

export type Encoding = keyof typeof decoders;

/** Clients mean either format by "deflate": with the header of zlib, whose first byte ends in 8, or without any. */
function hasZlibHeader(firstByte: number): boolean {
  return (firstByte & 0x0f) === 8;
}

export const encodingNames = Object.keys(decoders);

export function isEncoding(name: string): name is Encoding {
  return Object.hasOwn(decoders, name);
}
