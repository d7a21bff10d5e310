import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { head, RawConnection } from '../client/raw-http.ts';
import { issueToken } from '../client/tokens.ts';
import { type Topology, uploadSettings } from '../topologies/topology.ts';

const endpoints = ['/v1/chat/completions', '/v1/messages', '/v1/messages/count_tokens', '/v1/responses'] as const;
const framings = [{ 'content-length': '100000' }, { 'transfer-encoding': 'chunked' }] as const;
const idleMs = Number(uploadSettings.BODY_IDLE_TIMEOUT_SECONDS) * 1_000;
const windowMs = Number(uploadSettings.BODY_MIN_RATE_SECONDS) * 1_000;

/** Clients that send a body too slowly, and clients that are only slow. */
export function slowUploadsBehaviour(gateway: () => Topology): void {
  // These mostly wait: they wait in parallel.
  describe.concurrent('an upload', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'service', requestsPerMinute: 1_000 })).text;
    });

    const start = (path: string, headers: Readonly<Record<string, string>>) =>
      new RawConnection(gateway()).send(
        head(`POST ${path}`, { host: 'gateway', authorization: `Bearer ${token}`, ...headers }),
      );
    /** In the framing of the request. */
    const frame = (text: string, headers: Readonly<Record<string, string>>) =>
      'content-length' in headers ? text : `${text.length.toString(16)}\r\n${text}\r\n`;
    const expectTimeout = async (connection: RawConnection, path: string, onAnswer: () => void = () => undefined) => {
      const answer = await connection.answer().finally(onAnswer);
      expect(answer.status).toBe(408);
      const message = expect.any(String);
      expect(answer.json).toEqual(
        path.startsWith('/v1/messages')
          ? { type: 'error', error: { type: 'api_error', message } }
          : { error: { code: 'invalid_request', message } },
      );
      expect(answer.headers.get('connection')).toBe('close');
      expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('1000');
      expect(await connection.ended).toBe('closed');
    };
    const cases = endpoints.flatMap((path) => framings.map((framing) => ({ path, framing })));

    it('that stops is ended with 408', async () => {
      const startedAtMs = performance.now();
      await Promise.all(
        cases.map(async ({ path, framing }) => {
          using connection = start(path, framing);
          await expectTimeout(connection.send(frame('{"model":', framing)), path);
        }),
      );
      expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(idleMs);
    });

    it('that never begins, or stops within compressed data, is ended with 408', async () => {
      const packed = gzipSync(`{"model":"gateway/snel","user":"${'snel '.repeat(5_000)}"}`);
      using nothing = start('/v1/messages', { 'content-length': '10' });
      using beginning = start('/v1/responses', { 'content-length': String(packed.length), 'content-encoding': 'gzip' });
      beginning.send(packed.subarray(0, -1));
      await Promise.all([expectTimeout(nothing, '/v1/messages'), expectTimeout(beginning, '/v1/responses')]);
    });

    it('that continues by a few bytes at a time is ended with 408', async () => {
      const startedAtMs = performance.now();
      await Promise.all(
        cases.map(async ({ path, framing }) => {
          using connection = start(path, framing);
          connection.send(frame('{"a":"', framing));
          const trickle = setInterval(() => connection.send(frame('x'.repeat(100), framing)), 200);
          await expectTimeout(connection, path, () => clearInterval(trickle));
        }),
      );
      expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(windowMs);
    });

    it('that is slow but steady, or pauses, is taken', async () => {
      const pieces = 20;
      // More than the lowest rate over its whole time.
      const messages = [{ role: 'user', content: 'x'.repeat(20_000 * (windowMs / 1_000)) }];
      const body = JSON.stringify({ model: 'gateway/snel', max_completion_tokens: 1, messages });
      using steady = start('/v1/chat/completions', { 'content-length': String(body.length) });
      using pausing = start('/v1/chat/completions', { 'content-length': String(body.length) });
      const half = Math.ceil(body.length / 2);
      pausing.send(body.slice(0, half));
      const pieceBytes = Math.ceil(body.length / pieces);
      for (let n = 0; n < pieces; n += 1) {
        steady.send(body.slice(n * pieceBytes, (n + 1) * pieceBytes));
        if (n === 5) pausing.send(body.slice(half));
        // Longer than a window in all.
        await wait((1.3 * windowMs) / pieces);
      }
      expect((await steady.answer()).status).toBe(200);
      expect((await pausing.answer()).status).toBe(200);
    });
  });
}
