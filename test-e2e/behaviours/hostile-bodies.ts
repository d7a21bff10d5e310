import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { longContent } from '../client/long-content.ts';
import { head, RawConnection } from '../client/raw-http.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const MiB = 1024 * 1024;
const endpoints = [
  { path: '/v1/chat/completions', limitBytes: 16 * MiB, dialect: 'chat', takesCompression: true },
  { path: '/v1/messages', limitBytes: 16 * MiB, dialect: 'messages', takesCompression: false },
  { path: '/v1/messages/count_tokens', limitBytes: 16 * MiB, dialect: 'messages', takesCompression: false },
  { path: '/v1/responses', limitBytes: 64 * MiB, dialect: 'chat', takesCompression: true },
] as const;
/**
 * At this quality, spaces are compressed as well as at the best one, which takes a second for each
 * bomb.
 */
const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } } as const;
const encodings = [
  { name: 'gzip', encoding: 'gzip', compress: gzipSync },
  { name: 'deflate in a zlib header', encoding: 'deflate', compress: deflateSync },
  { name: 'bare deflate', encoding: 'deflate', compress: deflateRawSync },
  { name: 'br', encoding: 'br', compress: (bytes: Buffer) => brotliCompressSync(bytes, quick) },
  { name: 'zstd', encoding: 'zstd', compress: zstdCompressSync },
] as const;

/**
 * Bodies that are too large, differ from their headers, or are made to overload a server. @see spec
 * "Size limits"
 */
export function hostileBodiesBehaviour(gateway: () => Topology): void {
  describe.each(endpoints)('bodies of $path', ({ path, limitBytes, dialect, takesCompression }) => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    const start = (headers: Readonly<Record<string, string>>) =>
      new RawConnection(gateway()).send(
        head(`POST ${path}`, { host: 'gateway', authorization: `Bearer ${token}`, ...headers }),
      );
    const post = async (body: string | Buffer, headers: Readonly<Record<string, string>> = {}) => {
      const bytes = Buffer.from(body);
      using connection = start({ 'content-length': String(bytes.length), ...headers });
      return await connection.send(bytes).answer();
    };
    const refusal = (code: string, type: string) => {
      const message = expect.any(String);
      return dialect === 'chat' ? { error: { code, message } } : { type: 'error', error: { type, message } };
    };
    const tooLarge = refusal('body_too_large', 'request_too_large');

    it('are taken up to the limit', async () => {
      const answer = await post(bodyOf(path, limitBytes));
      expect(answer.status).toBe(200);
    });

    it('are refused by their declared size before they are sent, and have cost a slot', async () => {
      const fresh = (await issueToken(gateway(), { kind: 'service', requestsPerMinute: 10 })).text;
      using connection = start({ authorization: `Bearer ${fresh}`, 'content-length': String(limitBytes + 1) });
      const answer = await connection.answer();
      expect(answer.status).toBe(413);
      expect(answer.json).toEqual(tooLarge);
      expect(answer.headers.get('connection')).toBe('close');
      expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('9');
      expect(await connection.ended).toBe('closed');
    });

    it('are refused as soon as they are too large, and the client sees it even while it keeps sending', async () => {
      using connection = start({ 'transfer-encoding': 'chunked' });
      const chunk = Buffer.alloc(MiB, ' ');
      for (let sent = 0; sent <= limitBytes; sent += MiB) await connection.sendPatiently(chunked(chunk));
      const answer = await connection.answer();
      expect(answer.status).toBe(413);
      expect(answer.json).toEqual(tooLarge);
      for (let sent = 0; sent < 8; sent++) await connection.sendPatiently(chunked(chunk));
      await connection.send('0\r\n\r\n').ended;
    });

    it.each(encodings)('are counted decoded: $name', async ({ encoding, compress }) => {
      const bomb = compress(Buffer.alloc(limitBytes + MiB, ' '));
      const answer = await post(bomb, { 'content-encoding': encoding });
      expect(answer.status).toBe(takesCompression ? 413 : 415);
      expect(answer.json).toEqual(takesCompression ? tooLarge : refusal('unsupported_encoding', 'api_error'));
    });

    it.each(encodings)('must be whole: $name', async ({ encoding, compress }) => {
      const packed = compress(Buffer.from('{"model":"gateway/snel"}'));
      for (const body of [packed.subarray(0, -1), Buffer.concat([packed, Buffer.from('more')])]) {
        const answer = await post(body, { 'content-encoding': encoding });
        expect(answer.status).toBe(takesCompression ? 400 : 415);
        if (takesCompression) expect(answer.json).toEqual(refusal('invalid_body', 'invalid_request_error'));
      }
    });

    it.each([
      ['with a byte order mark', Buffer.from('\ufeff{}'), 'invalid_json'],
      ['in UTF-16', Buffer.from('{"model":"gateway/snel"}', 'utf16le'), 'invalid_json'],
      ['that are not UTF-8', Buffer.from('{"model":"\u00fc"}', 'latin1'), 'invalid_json'],
      ['that are empty', Buffer.alloc(0), 'invalid_json'],
      [
        'that are 10 000 levels deep',
        Buffer.from(`{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`),
        'invalid_request',
      ],
    ])('%s are refused', async (_what, body, code) => {
      const answer = await post(body, { 'content-type': 'application/json; charset=utf-16' });
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual(refusal(code, 'invalid_request_error'));
    });

    it('with millions of values are refused early, and affect no other request', async () => {
      using connection = start({ 'content-length': String(limitBytes) });
      connection.send('{"model":"gateway/snel","input":[');
      const values = Buffer.from('{},'.repeat(MiB / 3));
      for (let sent = 0; sent < 2 * MiB; sent += values.length) await connection.sendPatiently(values);
      const models = await fetch(`${gateway().baseUrl}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
      expect(models.status).toBe(200);
      const answer = await connection.answer();
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual(refusal('invalid_request', 'invalid_request_error'));
    });
  });
}

/** A body of exactly this size that the endpoint accepts. */
function bodyOf(path: (typeof endpoints)[number]['path'], bytes: number): string {
  const of = (text: string) => JSON.stringify(longContent(path, text));
  return of('x'.repeat(bytes - of('').length));
}

/** One chunk of a chunked body. */
function chunked(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}
