import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

/** A decoder with the memory that it takes for as long as it lives, besides what it has decoded. */
export interface Decoder {
  readonly open: () => ReturnType<typeof createGunzip> | ReturnType<typeof createZstdDecompress>;
  /** Taken when it begins. */
  readonly fixedBytes: number;
  /** The most that is taken as it decodes, as much as it has decoded. */
  readonly growingBytes: number;
}

const KiB = 1024;
const MiB = 1024 * KiB;

/** A decoder decodes at most so much at a time, into a buffer of its own. */
const outputBytes = 64 * KiB;
/** It asks for the next bytes when it is through with those before. */
const options = { chunkSize: outputBytes, writableHighWaterMark: 1 };
const optionsOfOne = { ...options, rejectGarbageAfterEnd: true };

/** A window of 32 KiB, and the state. */
const inflating = { fixedBytes: outputBytes + 64 * KiB, growingBytes: 0 } as const;
const gunzip: Decoder = { ...inflating, open: () => createGunzip(options) };

/**
 * A decoder for each encoding, given the first byte of what it will decode. Files of gzip and zstd
 * may have several parts.
 */
export const decoders = {
  gzip: () => gunzip,
  'x-gzip': () => gunzip,
  deflate: (firstByte) => ({
    ...inflating,
    open: () => (hasZlibHeader(firstByte) ? createInflate(optionsOfOne) : createInflateRaw(optionsOfOne)),
  }),
  br: (firstByte) => ({
    fixedBytes: outputBytes + brotliTablesBytes + brotliWindowBytes(firstByte),
    growingBytes: 0,
    open: () => createBrotliDecompress(optionsOfOne),
  }),
  zstd: () => zstd,
} as const satisfies Record<string, (firstByte: number) => Decoder>;

export type Encoding = keyof typeof decoders;

export const encodingNames = Object.keys(decoders);

export function isEncoding(name: string): name is Encoding {
  return Object.hasOwn(decoders, name);
}

/**
 * Clients mean either format by "deflate": with the header of zlib, whose first byte ends in 8, or
 * without any.
 */
function hasZlibHeader(firstByte: number): boolean {
  return (firstByte & 0x0f) === 8;
}

/** Codes of three kinds, up to 256 of each. */
const brotliTablesBytes = 4 * MiB;

/**
 * The window that a stream of brotli asks for in its first byte: 1 KiB to 16 MiB. A few bytes fill
 * all of it before any of it comes out. A larger one, which is an extension, is refused by the
 * decoder.
 * @see https://www.rfc-editor.org/rfc/rfc7932#section-9.1
 */
function brotliWindowBytes(firstByte: number): number {
  if ((firstByte & 1) === 0) return 2 ** 16;
  const large = (firstByte >> 1) & 7;
  const small = (firstByte >> 4) & 7;
  if (large > 0) return 2 ** (17 + large);
  return small === 0 ? 2 ** 17 : 2 ** (8 + small);
}

/**
 * Its window is filled as it decodes, block by block. Frames that follow each other may have
 * windows of any size: a frame may ask for 128 MiB, over HTTP 8 MiB is the most.
 * @see https://www.rfc-editor.org/rfc/rfc9659
 */
const zstdWindowLog = 23;
const zstdOptions = { ...optionsOfOne, params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLog } };
const zstd: Decoder = {
  // Tables, a block before it is decoded, and one after.
  fixedBytes: outputBytes + 448 * KiB,
  growingBytes: 2 ** zstdWindowLog,
  open: () => createZstdDecompress(zstdOptions),
};

/** The most that any decoder takes. */
export const largestDecoderBytes = outputBytes + brotliTablesBytes + 16 * MiB;
