import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

/**
 * A decoder with the memory that it takes during its lifetime, in addition to the decoded bytes.
 */
export interface Decoder {
  readonly open: () => ReturnType<typeof createGunzip> | ReturnType<typeof createZstdDecompress>;
  /** Reserved when it starts. */
  readonly fixedBytes: number;
  /** The maximum that it reserves while decoding, in step with the decoded bytes. */
  readonly growingBytes: number;
}

const KiB = 1024;
const MiB = 1024 * KiB;

/** A decoder decodes at most this much at a time, into a buffer of its own. */
const outputBytes = 64 * KiB;
/** A decoder asks for the next bytes when it has processed the previous ones. */
const options = { chunkSize: outputBytes, writableHighWaterMark: 1 };
const optionsOfOne = { ...options, rejectGarbageAfterEnd: true };

/** A window of 32 KiB, and the state. */
const inflating = { fixedBytes: outputBytes + 64 * KiB, growingBytes: 0 } as const;
const gunzip: Decoder = { ...inflating, open: () => createGunzip(options) };

/**
 * A decoder for each encoding; its argument is the first byte of the input. Files in gzip and zstd
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
 * Clients use "deflate" for two formats: with the zlib header, whose first byte ends in 8, or
 * without a header.
 */
function hasZlibHeader(firstByte: number): boolean {
  return (firstByte & 0x0f) === 8;
}

/** Three kinds of codes, up to 256 of each. */
const brotliTablesBytes = 4 * MiB;

/**
 * The window that a brotli stream requests in its first byte: 1 KiB to 16 MiB. A few bytes of input
 * can fill all of it before any output appears. The decoder refuses larger windows, which are an
 * extension.
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
 * The window fills as the decoder proceeds, block by block. Consecutive frames may have windows of
 * any size: a frame may request 128 MiB, but over HTTP 8 MiB is the maximum.
 * @see https://www.rfc-editor.org/rfc/rfc9659
 */
const zstdWindowLog = 23;
const zstdOptions = { ...optionsOfOne, params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLog } };
const zstd: Decoder = {
  // Tables, and a block before and after it is decoded.
  fixedBytes: outputBytes + 448 * KiB,
  growingBytes: 2 ** zstdWindowLog,
  open: () => createZstdDecompress(zstdOptions),
};

/** The maximum of all decoders. */
export const largestDecoderBytes = outputBytes + brotliTablesBytes + 16 * MiB;
