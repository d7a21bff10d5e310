import { randomBytes } from 'node:crypto';
import { createServer, request as httpRequest, type Server } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { toGatewayError } from '@gateway/errors';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EdgeResponse, sendError } from '../http/respond.ts';
import type { BodyAllocation } from './body-memory.ts';
import { BodyMemory } from './body-memory.ts';
import { decodeUpload, EdgeRequest, readBody } from './read-body.ts';

const ours = { IncomingMessage: EdgeRequest, ServerResponse: EdgeResponse };
const limitBytes = 2_000;
const json = Buffer.from(JSON.stringify({ model: 'm', text: 'ü'.repeat(100) }));
/** Spaces compress as well at this quality as at the best one, which takes a second for a bomb. */
const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } } as const;
const encodings = [
  { name: 'gzip', encoding: 'gzip', compress: gzipSync },
  { name: 'x-gzip', encoding: 'x-gzip', compress: gzipSync },
  { name: 'deflate in a zlib header', encoding: 'deflate', compress: deflateSync },
  { name: 'bare deflate', encoding: 'deflate', compress: deflateRawSync },
  { name: 'br', encoding: 'br', compress: (bytes: Buffer) => brotliCompressSync(bytes, quick) },
  { name: 'zstd', encoding: 'zstd', compress: zstdCompressSync },
] as const;
const pace = { idleMs: 20_000, leastBytesPerSecond: 4_096, windowMs: 60_000 };
const patient = new AbortController();
const plain = { encoding: 'identity', compress: (bytes: Buffer) => bytes } as const;

interface Answer {
  readonly status: number;
  readonly code?: string;
  readonly bytes?: number;
}

describe('readBody', () => {
  let server: Server<typeof EdgeRequest, typeof EdgeResponse>;
  let port: number;
  const memory = new BodyMemory({ limitBytes: 100_000_000, largestBodyBytes: 50_000_000, waitMs: 50 });
  /** How reading ended, for clients that are no longer there to see it. */
  const outcomes: string[] = [];

  beforeAll(async () => {
    server = createServer(ours, async (request, response) => {
      using allocation = memory.open('a token', patient.signal);
      try {
        const acceptsCompression = request.url !== '/plain';
        const body = await readBody(request, { limitBytes, acceptsCompression, pace, allocation });
        outcomes.push('read');
        response.end(JSON.stringify({ bytes: body.bytes.equals(json) ? body.bytes.length : body.bytes.toString() }));
      } catch (thrown) {
        const error = toGatewayError(thrown);
        outcomes.push(error.code);
        sendError(response, error, 'chat');
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => server.close().closeAllConnections());

  /**
   * Sends headers and, piece by piece, a body; resolves with the answer even if the upload never
   * ends.
   */
  function send(
    pieces: readonly (Buffer | string)[],
    { headers = {}, path = '/', ends = true }: { headers?: Record<string, string>; path?: string; ends?: boolean } = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (Buffer.concat(chunks).length < Number(response.headers['content-length'] ?? 0)) return;
          const answer = JSON.parse(Buffer.concat(chunks).toString());
          resolve({ status: response.statusCode ?? 0, code: answer.error?.code, bytes: answer.bytes });
          request.destroy();
        });
      });
      request.on('error', reject);
      request.setNoDelay(true);
      request.flushHeaders();
      for (const piece of pieces) request.write(piece);
      if (ends) request.end();
    });
  }
  const encoded = (encoding: string) => ({ headers: { 'content-encoding': encoding } });

  describe.each(encodings)('with $name', ({ encoding, compress }) => {
    const packed = compress(json);

    it('reads a body', async () => {
      expect(await send([packed], encoded(encoding))).toEqual({ status: 200, bytes: json.length });
    });

    it('refuses one that is cut short, anywhere', async () => {
      for (const length of [1, 2, packed.length >> 1, packed.length - 1]) {
        const answer = await send([packed.subarray(0, length)], encoded(encoding));
        expect(answer).toMatchObject({ status: 400, code: 'invalid_body' });
      }
    });

    it('refuses one that is followed by something else, at once or later', async () => {
      for (const pieces of [[Buffer.concat([packed, Buffer.from('more')])], [packed, 'm', 'ore']]) {
        expect(await send(pieces, encoded(encoding))).toMatchObject({ status: 400, code: 'invalid_body' });
      }
    });

    it('refuses none at all, and what is encoded otherwise', async () => {
      expect(await send([], encoded(encoding))).toMatchObject({ status: 400, code: 'invalid_body' });
      expect(await send([json], encoded(encoding))).toMatchObject({ status: 400, code: 'invalid_body' });
    });

    it('counts decoded bytes, so that a bomb is refused before it has been sent', async () => {
      const bomb = compress(Buffer.alloc(64 * 1024 * 1024, ' '));
      const answer = await send([bomb.subarray(0, bomb.length - 4)], { ...encoded(encoding), ends: false });
      expect(answer).toMatchObject({ status: 413, code: 'body_too_large' });
    });

    it('takes exactly the limit and not a byte more', async () => {
      const full = (bytes: number) => Buffer.from(`{"a":"${'x'.repeat(bytes - 8)}"}`);
      expect(await send([compress(full(limitBytes))], encoded(encoding))).toMatchObject({ status: 200 });
      expect(await send([compress(full(limitBytes + 1))], encoded(encoding))).toMatchObject({ status: 413 });
    });
  });

  it('reads the same however the bytes are split', async () => {
    const cuts = fc.array(fc.nat({ max: 300 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...encodings, plain), cuts, async ({ encoding, compress }, at) => {
        const packed = compress(json);
        const places = [0, ...at.toSorted((a, b) => a - b), packed.length];
        const pieces = places.slice(1).map((end, n) => packed.subarray(places[n], end));
        expect(await send(pieces, encoded(encoding))).toEqual({ status: 200, bytes: json.length });
      }),
      { numRuns: 60 },
    );
  });

  it('joins the members of a gzip file and the frames of zstd', async () => {
    const halves = [json.subarray(0, 50), json.subarray(50)];
    expect(
      await send(
        halves.map((half) => gzipSync(half)),
        encoded('gzip'),
      ),
    ).toMatchObject({ status: 200 });
    expect(await send([Buffer.concat(halves.map((half) => zstdCompressSync(half)))], encoded('zstd'))).toMatchObject({
      status: 200,
    });
  });

  it('refuses what is sent without end and never decodes to anything', async () => {
    const gzipWithEndlessFileName = Buffer.concat([
      Buffer.from('1f8b0808000000000003', 'hex'),
      Buffer.alloc(8_000, 'a'),
    ]);
    const answer = await send([gzipWithEndlessFileName], { ...encoded('gzip'), ends: false });
    expect(answer).toMatchObject({ status: 413, code: 'body_too_large' });
    const declared = { headers: { 'content-encoding': 'gzip', 'content-length': '8000' }, ends: false };
    expect(await send([gzipWithEndlessFileName.subarray(0, 9)], declared)).toMatchObject({ status: 413 });
  });

  it('refuses zstd that wants a window over 8 MiB', async () => {
    const params = { [constants.ZSTD_c_windowLog]: 24, [constants.ZSTD_c_contentSizeFlag]: 0 };
    const wide = zstdCompressSync(Buffer.alloc(20 * 1024 * 1024, ' '), { params });
    expect(await send([wide], encoded('zstd'))).toMatchObject({ status: 400, code: 'invalid_body' });
  });

  it('decodes no more than is read, and stops receiving', async () => {
    const noise = randomBytes(8 * 1024 * 1024);
    const packed = zstdCompressSync(noise);
    const received = await new Promise<number>((resolve) => {
      const slow = createServer(ours, async (request) => {
        using allocation = memory.open('a token', patient.signal);
        const rules = { limitBytes: noise.length, acceptsCompression: true, pace, allocation };
        for await (const _chunk of decodeUpload(request, rules, 'zstd')) {
          await new Promise((wait) => setTimeout(wait, 200));
          break;
        }
        resolve(request.socket.bytesRead);
        slow.close().closeAllConnections();
      });
      slow.listen(0, '127.0.0.1', () => {
        const { port: slowPort } = slow.address() as AddressInfo;
        const request = httpRequest({ port: slowPort, host: '127.0.0.1', method: 'POST' });
        request.on('error', () => undefined).end(packed);
      });
    });
    expect(received).toBeLessThan(packed.length / 4);
  });

  it.each(['lzma', 'compress', 'gzip, gzip', 'identity, gzip', 'aws-chunked'])(
    'refuses the encoding %s',
    async (name) => {
      expect(await send([json], encoded(name))).toMatchObject({ status: 415, code: 'unsupported_encoding' });
    },
  );

  it('takes the names of encodings in any case', async () => {
    expect(await send([gzipSync(json)], encoded(' GZip '))).toMatchObject({ status: 200 });
    expect(await send([json], encoded('Identity'))).toMatchObject({ status: 200 });
  });

  it('refuses any encoding where none is taken, before it looks at the size', async () => {
    const headers = { 'content-encoding': 'gzip', 'content-length': String(limitBytes * 10) };
    expect(await send(['x'], { headers, path: '/plain', ends: false })).toMatchObject({ status: 415 });
    expect(await send([json], { path: '/plain' })).toMatchObject({ status: 200 });
  });

  it('refuses a declared size before anything is sent', async () => {
    const headers = { 'content-length': String(limitBytes + 1) };
    expect(await send([], { headers, ends: false })).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  it('refuses an undeclared size as soon as it is reached', async () => {
    const answer = await send([`{"a":"${'x'.repeat(limitBytes)}`], { ends: false });
    expect(answer).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  it('names the size when a body is both too large and no JSON', async () => {
    expect(await send(['x'.repeat(limitBytes + 1)])).toMatchObject({ status: 413 });
    expect(await send([gzipSync('x'.repeat(limitBytes + 1))], encoded('gzip'))).toMatchObject({ status: 413 });
  });

  it('names the encoding when a body is both undecodable and no JSON', async () => {
    const packed = gzipSync('x'.repeat(1_000));
    expect(await send([packed.subarray(0, -4)], encoded('gzip'))).toMatchObject({ status: 400, code: 'invalid_body' });
  });

  it('refuses what is no JSON before the upload ends, when it cannot be too large any more', async () => {
    const headers = { 'content-length': String(limitBytes) };
    expect(await send(['nonsense'], { headers, ends: false })).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  it.each([
    ['half an object', '{"a":', 'invalid_json'],
    ['nothing', '', 'invalid_json'],
    ['a byte order mark', '\ufeff{}', 'invalid_json'],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le'), 'invalid_json'],
    ['UTF-16 with a byte order mark', Buffer.from('\ufeff{"a":1}', 'utf16le'), 'invalid_json'],
    ['Latin-1', Buffer.from('{"a":"\u00fc"}', 'latin1'), 'invalid_json'],
    ['half a character', Buffer.from(Buffer.from('{"a":"\u00fc"}').filter((byte) => byte !== 0xbc)), 'invalid_json'],
    ['an encoded surrogate', Buffer.from('7b2261223a22eda080227d', 'hex'), 'invalid_json'],
    ['two values', '{}{}', 'invalid_json'],
    ['NaN', '{"a":NaN}', 'invalid_json'],
    ['an array', '[]', 'invalid_request'],
    ['a text', '"a"', 'invalid_request'],
    ['null', 'null', 'invalid_request'],
    ['deep nesting', `{"a":${'['.repeat(900)}${']'.repeat(900)}}`, 'invalid_request'],
  ])('refuses %s', async (_what, body, code) => {
    expect(await send(body.length === 0 ? [] : [body])).toMatchObject({ status: 400, code });
  });

  it('takes half a surrogate pair as an escape', async () => {
    expect(await send(['{"a":"\\ud800"}'])).toMatchObject({ status: 200 });
  });

  it('ends when the client breaks off, whatever the encoding', async () => {
    for (const [encoding, beginning] of [
      ['identity', '{"a"'],
      ['gzip', Buffer.from(gzipSync(json)).subarray(0, 20)],
      ['deflate', ''],
    ] satisfies [string, string | Buffer][]) {
      outcomes.length = 0;
      const headers = { 'content-encoding': encoding, 'content-length': '500' };
      const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers });
      request.on('error', () => undefined).write(beginning);
      request.flushHeaders();
      setTimeout(() => request.destroy(), 30);
      await expect.poll(() => outcomes).toEqual(['invalid_body']);
    }
  });

  it('decodes two bodies of a token at a time, and takes memory for no more', async () => {
    const bomb = brotliCompressSync(Buffer.alloc(64 * 1024 * 1024, ' '), quick);
    const decoded = { limitBytes: 4_000_000, acceptsCompression: true };
    const roomy = new BodyMemory({ limitBytes: 200_000_000, largestBodyBytes: 4_000_000, waitMs: 20_000 });
    const bodies = new Set<BodyAllocation>();
    const under = createServer(ours, async (request, response) => {
      using allocation = roomy.open('a', patient.signal);
      bodies.add(allocation);
      const body = readBody(request, { ...decoded, pace, allocation });
      response.end(await body.catch((thrown: unknown) => toGatewayError(thrown).code));
    });
    await new Promise<void>((resolve) => under.listen(0, '127.0.0.1', resolve));
    const { port: ownPort } = under.address() as AddressInfo;
    let maxBytes = 0;
    let maxOfDecoders = 0;
    const watch = setInterval(() => {
      const ofBodies = bodies.values().reduce((sum, { bytes }) => sum + bytes, 0);
      maxBytes = Math.max(maxBytes, ofBodies);
      maxOfDecoders = Math.max(maxOfDecoders, roomy.usedBytes - ofBodies);
    });
    const post = () =>
      fetch(`http://127.0.0.1:${ownPort}`, { method: 'POST', headers: { 'content-encoding': 'br' }, body: bomb });
    const answers = await Promise.all(Array.from({ length: 16 }, async () => (await post()).text()));
    clearInterval(watch);
    under.close().closeAllConnections();
    expect(new Set(answers)).toEqual(new Set(['body_too_large']));
    expect(maxBytes).toBeGreaterThan(500_000);
    expect(maxBytes).toBeLessThanOrEqual(2 * decoded.limitBytes);
    // The body's window is 4 MiB.
    expect(maxOfDecoders).toBeGreaterThan(4 * 1024 * 1024);
    expect(maxOfDecoders).toBeLessThanOrEqual(16 * 9 * 1024 * 1024);
    expect(roomy.usedBytes).toBe(0);
  });

  it('takes no more memory for a body whose size is declared', async () => {
    using allocation = memory.open('a token', patient.signal);
    const request = Object.assign(new EdgeRequest(new Socket()), { headers: { 'content-length': '8' } });
    for (const byte of Buffer.from('{"a":12}')) request.push(Buffer.of(byte));
    request.push(null);
    await readBody(request, { limitBytes, acceptsCompression: false, pace, allocation });
    expect(allocation.bytes).toBe(8);
  });

  it('answers 503 while there is no room for the body, and lets go of the room in the end', async () => {
    using allocations = new DisposableStack();
    const fill = async (tokenId: string, bytes: number) => {
      const allocation: BodyAllocation = allocations.use(memory.open(tokenId, patient.signal));
      await allocation.take(bytes);
    };
    await fill('a', 50_000_000);
    await fill('b', 50_000_000 - limitBytes);
    const headers = { 'content-length': String(json.length) };
    expect(await send([json], { headers })).toMatchObject({ status: 200 });
    await expect.poll(() => memory.usedBytes).toBe(100_000_000 - limitBytes);
    await fill('b', limitBytes);
    expect(await send([json], { headers })).toMatchObject({ status: 503, code: 'providers_unavailable' });
    allocations.dispose();
    await expect.poll(() => memory.usedBytes).toBe(0);
  });
});
