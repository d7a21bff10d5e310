import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { toGatewayError } from '@gateway/errors';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyMemory } from './body-memory.ts';
import { decoders, type Encoding, largestDecoderBytes } from './decoders.ts';
import { EdgeRequest, readBody } from './read-body.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const pace = { idleMs: 20_000, leastBytesPerSecond: 4_096, windowMs: 60_000 };

/** An upload that a test sends piece by piece, and its part of the body memory. */
function upload(
  encoding: Encoding | 'identity',
  { idleMs = pace.idleMs, roomBytes = 1_024 * MiB, limitBytes = 32 * MiB } = {},
) {
  const memory = new BodyMemory({ limitBytes: roomBytes, largestBodyBytes: 1, waitMs: 50 });
  const client = new AbortController();
  const request = Object.assign(new EdgeRequest(new Socket()), { headers: { 'content-encoding': encoding } });
  const read = async () => {
    using allocation = memory.open('a token', client.signal);
    await readBody(request, { limitBytes, acceptsCompression: true, pace: { ...pace, idleMs }, allocation });
    // The decoder has finished with the body.
    expect(memory.usedBytes).toBe(allocation.bytes);
  };
  const ended = read().then(
    () => 'read',
    (thrown: unknown) => toGatewayError(thrown).code,
  );
  return { memory, client, request, ended };
}

const brotli = (lgwin: number, text: Buffer, isLarge = false) =>
  brotliCompressSync(text, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 3,
      [constants.BROTLI_PARAM_LGWIN]: lgwin,
      [constants.BROTLI_PARAM_LARGE_WINDOW]: isLarge,
    },
  });
const zstd = (windowLog: number, text: Buffer) =>
  zstdCompressSync(text, {
    params: { [constants.ZSTD_c_windowLog]: windowLog, [constants.ZSTD_c_contentSizeFlag]: 0 },
  });
const blanks = (bytes: number) => Buffer.alloc(bytes, ' ');

describe('the memory of a decoder', () => {
  it.each([10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24])(
    'of brotli has the window that its first byte asks for: 2^%i bytes',
    async (lgwin) => {
      const { memory, client, request, ended } = upload('br');
      request.push(brotli(lgwin, blanks(20 * KiB)).subarray(0, 1));
      const tablesBytes = 4 * MiB + 64 * KiB;
      await expect.poll(() => memory.usedBytes).toBe(2 ** lgwin + tablesBytes);
      expect(memory.usedBytes).toBeLessThanOrEqual(largestDecoderBytes);
      request.destroy();
      client.abort();
      expect(await ended).toBe('invalid_body');
      expect(memory.usedBytes).toBe(0);
    },
  );

  it('of brotli with a window beyond the standard is not needed: it decodes nothing', async () => {
    const { memory, request, ended } = upload('br');
    request.push(brotli(28, blanks(MiB), true));
    request.push(null);
    expect(await ended).toBe('invalid_body');
    expect(memory.usedBytes).toBe(0);
  });

  it.each(['gzip', 'x-gzip', 'deflate'] as const)('of %s is 128 KiB', async (encoding) => {
    const { memory, request, ended } = upload(encoding);
    const compress = encoding === 'deflate' ? deflateSync : gzipSync;
    request.push(compress(randomBytes(MiB).toString('base64')).subarray(0, 100));
    await expect.poll(() => memory.usedBytes).toBe(128 * KiB);
    request.destroy();
    await ended;
  });

  it.each([
    ['is small for what is small', 100 * KiB, [17]],
    ['grows with what it has decoded', 3 * MiB, [23]],
    ['grows to 8 MiB at most', 20 * MiB, [23]],
    ['holds for all frames that follow each other', 20 * MiB, [10, 23]],
  ])('of zstd %s', async (_how, bytes, windowLogs) => {
    const { memory, request, ended } = upload('zstd');
    const frames = [zstd(10, Buffer.from('"'))];
    for (const log of windowLogs) frames.push(zstd(log, Buffer.alloc(bytes / windowLogs.length, 'x')));
    // Without its checksum the body stays incomplete.
    request.push(Buffer.concat(frames));
    request.push(zstd(10, blanks(10)).subarray(0, -1));
    const fixedBytes = 512 * KiB;
    // The decoded bytes are kept in addition, in blocks of up to 1 MiB.
    const least = fixedBytes + Math.min(bytes, 8 * MiB) + bytes;
    await expect.poll(() => memory.usedBytes).toBeGreaterThanOrEqual(least);
    expect(memory.usedBytes).toBeLessThanOrEqual(least + MiB + KiB);
    request.destroy();
    await ended;
    expect(memory.usedBytes).toBe(0);
  });

  it('is waited for, and an upload for whose decoder there is no room is refused', async () => {
    const { memory, request, ended } = upload('br', { roomBytes: 8 * MiB });
    request.push(brotli(24, Buffer.from('{"a":1}')));
    request.push(null);
    expect(await ended).toBe('providers_unavailable');
    expect(memory.usedBytes).toBe(0);
    expect(request.listenerCount('readable')).toBe(0);
  });

  it('is given back however the upload ends', async () => {
    const compressors = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, zstd: zstdCompressSync };
    const compressed = (encoding: Encoding, text: Buffer) =>
      encoding === 'br' ? brotli(18, text) : compressors[encoding](text);
    const ends = fc.constantFrom(
      'completed',
      'cut',
      'left',
      'destroyed',
      'garbled',
      'idle',
      'bad JSON',
      'no room',
      'too large',
    );
    const encoding = fc.constantFrom(...(Object.keys(decoders) as Encoding[]));
    await fc.assert(
      fc.asyncProperty(encoding, ends, fc.integer({ min: 1, max: 5 }), async (chosen, end, pieces) => {
        const limitBytes = 100 * KiB;
        const isLarge = end === 'too large';
        const text = isLarge ? blanks(limitBytes + 1) : Buffer.from(`${end === 'bad JSON' ? '' : '{"a":1,'}"b":2}`);
        const bytes = compressed(chosen, text);
        if (end === 'garbled') bytes.fill(0x5a, bytes.length >> 1);
        const roomBytes = end === 'no room' ? 100 * KiB : 1_024 * MiB;
        const sent = upload(chosen, { idleMs: 30, roomBytes, limitBytes });
        const most = ['completed', 'garbled', 'too large', 'no room'].includes(end) ? bytes.length : bytes.length - 1;
        for (let n = 0; n < pieces; n += 1) {
          sent.request.push(bytes.subarray(Math.floor((most * n) / pieces), Math.floor((most * (n + 1)) / pieces)));
          await new Promise((resolve) => setImmediate(resolve));
        }
        if (['completed', 'cut', 'garbled', 'no room'].includes(end)) sent.request.push(null);
        if (end === 'left') sent.request.destroy(new Error('aborted'));
        if (end === 'destroyed') sent.request.destroy();
        const code = await sent.ended;
        expect(sent.memory.usedBytes).toBe(0);
        expect(sent.memory.waiting).toBe(0);
        for (const event of ['readable', 'data']) expect(sent.request.listenerCount(event)).toBe(0);
        if (end === 'completed') expect(code).toBe('read');
        else expect(code).not.toBe('read');
      }),
      { numRuns: 120 },
    );
  });
});

describe('an upload that is known to be no JSON', () => {
  const endless = {
    br: brotli(24, Buffer.from('no JSON')),
    gzip: gzipSync('no JSON'),
    deflate: deflateRawSync('no JSON'),
  };

  it.each(Object.entries(endless))('ends soon though more of it comes: %s', async (encoding, bytes) => {
    const { memory, request, ended } = upload(encoding as keyof typeof endless, { idleMs: 200 });
    // Everything except the end: the decoder returns what it has, and waits for more.
    request.push(bytes.subarray(0, -1));
    expect(await ended).toBe('invalid_json');
    expect(memory.usedBytes).toBe(0);
  });
});
