import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { toGatewayError } from '@gateway/errors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendError } from '../http/send-error.ts';
import { readBody } from './read-body.ts';

const rules = { limitBytes: 1_000, acceptsCompression: true };
const json = Buffer.from(JSON.stringify({ model: 'm', text: 'ü'.repeat(100) }));

describe('readBody', () => {
  let server: Server;
  let port: number;
  let acceptsCompression = true;

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      try {
        const body = await readBody(request, { ...rules, acceptsCompression });
        response.end(JSON.stringify({ model: body.value('model'), bytes: body.bytes.length }));
      } catch (thrown) {
        sendError(request, response, { error: toGatewayError(thrown), dialect: 'chat', nowMs: 0 });
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => server.closeAllConnections());

  /** Sends headers and, piece by piece, a body; resolves with the answer even when the upload never ends. */
  function send(
    pieces: readonly Buffer[],
    headers: Record<string, string> = {},
    ends = true,
  ): Promise<{ status: number; code?: string; bytes?: number }> {
    return new Promise((resolve, reject) => {
      const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          try {
            const answer = JSON.parse(Buffer.concat(chunks).toString());
            resolve({ status: response.statusCode ?? 0, code: answer.error?.code, bytes: answer.bytes });
            request.destroy();
          } catch {
            // Not whole yet.
          }
        });
      });
      request.on('error', (fault) => reject(fault));
      for (const piece of pieces) request.write(piece);
      if (ends) request.end();
    });
  }

  it.each([
    ['gzip', gzipSync(json)],
    ['deflate', deflateSync(json)],
    ['br', brotliCompressSync(json)],
    ['zstd', zstdCompressSync(json)],
    ['identity', json],
  ])('reads %s', async (encoding, bytes) => {
    expect(await send([bytes], { 'content-encoding': encoding })).toEqual({ status: 200, bytes: json.length });
  });

  it('refuses an encoding that it does not know, and any where none is taken', async () => {
    expect(await send([json], { 'content-encoding': 'lzma' })).toMatchObject({
      status: 415,
      code: 'unsupported_encoding',
    });
    acceptsCompression = false;
    expect(await send([gzipSync(json)], { 'content-encoding': 'gzip' })).toMatchObject({ status: 415 });
    acceptsCompression = true;
  });

  it('refuses a declared size before anything is sent', async () => {
    const answer = await send([Buffer.from('{')], { 'content-length': '1001' }, false);
    expect(answer).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  it('refuses an undeclared size as soon as it is reached', async () => {
    const answer = await send([Buffer.from(`{"a":"${'x'.repeat(1_001)}`)], {}, false);
    expect(answer).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  it('counts decoded bytes, so that a bomb is refused', async () => {
    const bomb = gzipSync(Buffer.alloc(1024 * 1024, ' '));
    expect(await send([bomb], { 'content-encoding': 'gzip' })).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  it('refuses what can not be decoded, and what is cut short', async () => {
    expect(await send([json], { 'content-encoding': 'gzip' })).toMatchObject({ status: 400, code: 'invalid_body' });
    const cut = gzipSync(json).subarray(0, -10);
    expect(await send([cut], { 'content-encoding': 'gzip' })).toMatchObject({ status: 400, code: 'invalid_body' });
  });

  it('refuses what is no JSON object', async () => {
    expect(await send([Buffer.from('{"a":')])).toMatchObject({ status: 400, code: 'invalid_json' });
    expect(await send([])).toMatchObject({ status: 400, code: 'invalid_json' });
    expect(await send([Buffer.from('[]')])).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it('names the size when a body is both too large and no JSON', async () => {
    expect(await send([Buffer.from('x'.repeat(1_001))])).toMatchObject({ status: 413 });
  });
});
