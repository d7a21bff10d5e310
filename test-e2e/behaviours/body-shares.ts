import { setTimeout as wait } from 'node:timers/promises';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { head, RawConnection } from '../client/raw-http.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const MiB = 1024 * 1024;
/** At this quality, spaces are compressed as well as at the best one, which takes a second. */
const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } } as const;

const widest = { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } } as const;

/**
 * Uploads of one token never prevent others from being served. The gateway has memory for bodies of
 * 128 MiB.
 */
export function bodySharesBehaviour(gateway: () => Topology): void {
  describe.each([
    { kind: 'service', framing: 'of announced size' },
    { kind: 'personal', framing: 'in chunks' },
  ] as const)('the uploads of a $kind token', ({ kind, framing }) => {
    let greedy = '';
    let other = '';
    beforeAll(async () => {
      greedy = (await issueToken(gateway(), { kind })).text;
      other = (await issueToken(gateway(), { kind })).text;
    });

    const start = (token: string, path: string, headers: Readonly<Record<string, string>>) =>
      new RawConnection(gateway()).send(
        head(`POST ${path}`, { host: 'gateway', authorization: `Bearer ${token}`, ...headers }),
      );
    const post = async (token: string, path: string, body: string | Buffer, encoding = 'identity') => {
      const headers = { 'content-length': String(body.length), 'content-encoding': encoding };
      using connection = start(token, path, headers);
      const { status, text } = await connection.send(body).answer();
      return status === 200 ? 200 : `${status} ${text}`;
    };
    /** Small and large requests of a token are answered. */
    const expectServed = async (token: string) => {
      for (let n = 0; n < 3; n += 1) {
        expect(await post(token, '/v1/chat/completions', chatBody(200))).toBe(200);
        expect(await post(token, '/v1/messages', messagesBody(200))).toBe(200);
      }
      expect(await post(token, '/v1/chat/completions', chatBody(5 * MiB))).toBe(200);
      expect(await post(token, '/v1/responses', responsesBody(30 * MiB))).toBe(200);
    };

    const bodyMemoryBytes = async () => {
      using connection = new RawConnection({ baseUrl: gateway().edgeAdminUrl });
      const { text } = await connection.send(head('GET /metrics', { host: 'localhost' })).answer();
      return Number(/^gateway_body_memory_bytes (\S+)$/m.exec(text)?.[1] ?? Number.NaN);
    };

    it('hold next to nothing when they are only announced', async () => {
      using connections = new DisposableStack();
      for (let n = 0; n < 8; n += 1) {
        const connection = start(greedy, '/v1/responses', { 'content-length': String(64 * MiB) });
        connections.use(connection.send('{'));
      }
      await wait(300);
      await expectServed(other);
      expect(await post(greedy, '/v1/responses', responsesBody(30 * MiB))).toBe(200);
    });

    it('hold no more than their share when they are real', async () => {
      const body = responsesBody(40 * MiB);
      const bytes = framing === 'in chunks' ? chunked(body) : body;
      const headers: Record<string, string> =
        framing === 'in chunks' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) };
      const { promise: mayEnd, resolve: letEnd } = Promise.withResolvers<void>();
      const uploads = Array.from({ length: 5 }, async () => {
        using connection = start(greedy, '/v1/responses', headers);
        const answered = connection.answer();
        const sent = connection.sendPatiently(Buffer.from(bytes.slice(0, -100), 'latin1'));
        await Promise.race([Promise.all([sent, mayEnd]), answered]);
        connection.send(bytes.slice(-100));
        return (await answered).status;
      });
      await wait(1_000);
      await expectServed(other);
      letEnd();
      // A client that has waited for the test is too slow; a client that has waited for room is
      // refused.
      for (const status of await Promise.all(uploads)) expect([200, 408, 503]).toContain(status);
      expect(await post(greedy, '/v1/responses', responsesBody(64 * MiB))).toBe(200);
    });

    it('are taken, many at once, when they decode to a thousand times their size and are valid', async () => {
      const packed = gzipSync(responsesBody(8.5 * MiB));
      const answers = Array.from({ length: 9 }, () => post(greedy, '/v1/responses', packed, 'gzip'));
      expect(await Promise.all(answers)).toEqual(answers.map(() => 200));
    });

    it('hold the memory of their decoders, which the gauge shows, for as long as they last', async () => {
      const bomb = brotliCompressSync(Buffer.alloc(8 * MiB, ' '), { params: { ...quick.params, ...widest.params } });
      const headers = { 'content-length': '1000', 'content-encoding': 'br' };
      {
        using uploads = new DisposableStack();
        for (let n = 0; n < 8; n += 1) {
          uploads.use(start(greedy, '/v1/responses', headers).send(bomb.subarray(0, 20)));
        }
        // Three windows of 16 MiB at least; beside those of others there is room for four at most.
        await expect.poll(bodyMemoryBytes).toBeGreaterThan(3 * 16 * MiB);
        await expectServed(other);
      }
      await expect.poll(bodyMemoryBytes).toBe(0);
    });

    it('do not delay others when they decode to a thousand times their size', async () => {
      const bomb = brotliCompressSync(Buffer.alloc(64 * MiB, ' '), quick);
      expect(bomb.length).toBeLessThan(64 * 1024);
      const headers = { 'content-length': String(bomb.length), 'content-encoding': 'br' };
      const bombs = Array.from({ length: 16 }, async () => {
        using connection = start(greedy, '/v1/responses', headers);
        return (await connection.send(bomb).answer()).status;
      });
      const packed = gzipSync(responsesBody(20 * MiB));
      await wait(300);
      for (let n = 0; n < 6; n += 1) expect(await post(other, '/v1/responses', packed, 'gzip')).toBe(200);
      await expectServed(other);
      for (const status of await Promise.all(bombs)) expect([400, 503]).toContain(status);
      expect(await post(greedy, '/v1/responses', responsesBody(30 * MiB))).toBe(200);
    });
  });
}

/** The long text is not in the last message: the answer repeats that one. */
const messagesOf = (text: string) => [text, 'short'].map((content) => ({ role: 'user', content }));

function chatBody(bytes: number): string {
  return ofLength(bytes, (text) => ({ model: 'gateway/claude', messages: messagesOf(text) }));
}

function messagesBody(bytes: number): string {
  return ofLength(bytes, (text) => ({ model: 'gateway/claude', max_tokens: 100, messages: messagesOf(text) }));
}

function responsesBody(bytes: number): string {
  return ofLength(bytes, (text) => ({ model: 'gpt-5.5', input: messagesOf(text) }));
}

function ofLength(bytes: number, contentOf: (text: string) => object): string {
  const of = (text: string) => JSON.stringify(contentOf(text));
  return of('x'.repeat(bytes - of('').length));
}

/** In chunks of 64 KiB. */
function chunked(body: string): string {
  const chunks: string[] = [];
  for (let at = 0; at < body.length; at += 65_536) {
    const chunk = body.slice(at, at + 65_536);
    chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  }
  return `${chunks.join('')}0\r\n\r\n`;
}
