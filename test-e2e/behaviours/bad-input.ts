import { gzipSync, zstdCompressSync } from 'node:zlib';
import { roomMs } from '@gateway/testkit/room';
import { beforeAll, describe, expect, it } from 'vitest';
import { chat, readAnswer } from '../client/chat.ts';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

/** Requests that are refused, and their errors. @see spec "Errors" */
export function badInputBehaviour(gateway: () => Topology): void {
  describe('bad input', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    const send = async (path: string, init: RequestInit) =>
      readAnswer(await fetch(`${gateway().baseUrl}${path}`, { signal: AbortSignal.timeout(roomMs(20_000)), ...init }));
    const post = (body: string | Buffer<ArrayBuffer>, headers: Record<string, string> = {}) =>
      send('/v1/chat/completions', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        body,
      });
    const error = (code: string) => ({ error: { code, message: expect.any(String) } });

    it.each([
      ['no token', {}],
      ['a malformed token', { authorization: 'Bearer nonsense' }],
      ['another scheme', { authorization: 'Basic Zm9vOmJhcg==' }],
      ['a token that was never issued', { authorization: 'Bearer gw_s_000000000000000000000000000000000000' }],
    ])('answers 401 to %s, and sends no limits', async (_what, headers) => {
      const answer = await send('/v1/chat/completions', {
        method: 'POST',
        headers: headers as Record<string, string>,
        body: '{}',
      });
      expect(answer.status).toBe(401);
      expect(answer.json).toEqual(error('unauthorized'));
      const own = [...answer.headers.keys()].filter((name) => name.startsWith('x-'));
      expect(own.toSorted()).toEqual(['x-request-id', 'x-should-retry']);
    });

    it.each([
      ['/v1/messages', 'gateway/rotating', 'The model class "gateway/rotating" has no Claude-style candidate.'],
      ['/v1/messages', 'gpt-5.5', 'The model "gpt-5.5" does not belong to the Messages pool.'],
      ['/v1/messages', 'gateway/nowhere', 'The model "gateway/nowhere" does not exist.'],
      ['/v1/messages/count_tokens', 'gateway/rotating', expect.stringContaining('has no Claude-style candidate.')],
      ['/v1/responses', 'claude-sonnet-5', 'The model "claude-sonnet-5" does not belong to the Responses pool.'],
      [
        '/v1/responses',
        'gateway/sterk',
        'The model class "gateway/sterk" is not accepted here. Use the name of a model.',
      ],
      ['/v1/responses', 'gpt-nowhere', 'The model "gpt-nowhere" does not exist.'],
    ] as const)('answers 404 on %s to %s and says why', async (path, model, message) => {
      const body = path === '/v1/responses' ? responsesBody(model, 'x') : messagesBody(model, 'x');
      const { status, json } = await relay(gateway(), token, { path, body });
      expect([status, json]).toMatchObject([404, { error: { message } }]);
    });

    it.each([
      ['broken JSON', '{"model":', 'invalid_json'],
      ['no object', '[]', 'invalid_request'],
      ['no model', '{"messages":[{"role":"user","content":"x"}]}', 'invalid_request'],
      ['no messages', '{"model":"gateway/sterk"}', 'invalid_request'],
      ['empty messages', '{"model":"gateway/sterk","messages":[]}', 'invalid_request'],
      ['an unknown role', '{"model":"gateway/sterk","messages":[{"role":"robot","content":"x"}]}', 'invalid_request'],
      ['n of 2', '{"model":"gateway/sterk","n":2,"messages":[{"role":"user","content":"x"}]}', 'invalid_request'],
      [
        'audio',
        '{"model":"gateway/sterk","messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"","format":"wav"}}]}]}',
        'unsupported_content',
      ],
      [
        'a tool message without its id',
        '{"model":"gateway/sterk","messages":[{"role":"user","content":"x"},{"role":"tool","content":"y"}]}',
        'invalid_request',
      ],
    ])('answers 400 to %s', async (_what, body, code) => {
      const answer = await post(body);
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual(error(code));
    });

    it('names the field that is wrong', async () => {
      const { json } = await post(
        '{"model":"gateway/sterk","messages":[{"role":"user","content":"x"},{"role":"tool","content":"y"}]}',
      );
      expect(json).toMatchObject({ error: { message: expect.stringContaining('messages[1].tool_call_id') } });
    });

    it('answers 404 to an unknown model, class or direct', async () => {
      for (const model of ['gateway/none', 'no-such-model']) {
        const { status, json } = await chat(gateway(), token, { model });
        expect(status).toBe(404);
        expect(json).toEqual(error('model_not_found'));
      }
    });

    it('answers 415 to an unknown encoding', async () => {
      const answer = await post('{}', { 'content-encoding': 'compress' });
      expect(answer.status).toBe(415);
      expect(answer.json).toEqual(error('unsupported_encoding'));
    });

    it('answers 400 to a body that is not encoded as it says', async () => {
      const answer = await post('{}', { 'content-encoding': 'gzip' });
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual(error('invalid_body'));
    });

    it('takes compressed bodies', async () => {
      const body = Buffer.from('{"model":"gateway/snel","messages":[{"role":"user","content":"packed"}]}');
      for (const [encoding, packed] of [
        ['gzip', gzipSync(body)],
        ['zstd', zstdCompressSync(body)],
      ] as const) {
        expect((await post(packed, { 'content-encoding': encoding })).status).toBe(200);
      }
    });

    it('answers 413 to a body over 16 MiB, declared or decoded', async () => {
      const huge = Buffer.alloc(16 * 1024 * 1024 + 1, ' ');
      const declared = await post(huge);
      expect(declared.status).toBe(413);
      expect(declared.json).toEqual(error('body_too_large'));
      const decoded = await post(gzipSync(huge), { 'content-encoding': 'gzip' });
      expect(decoded.status).toBe(413);
    });

    it('answers 404 and 405 before it authenticates the caller', async () => {
      const unknown = await send('/v1/nothing', {});
      expect(unknown.status).toBe(404);
      expect(unknown.json).toEqual(error('not_found'));
      const wrong = await send('/v1/chat/completions', { method: 'DELETE' });
      expect(wrong.status).toBe(405);
      expect(wrong.headers.get('allow')).toBe('POST');
      expect(wrong.json).toEqual(error('method_not_allowed'));
    });

    it('reveals nothing about its software', async () => {
      const { headers } = await send('/v1/models', { headers: { authorization: `Bearer ${token}` } });
      expect(headers.has('x-powered-by')).toBe(false);
      expect(headers.has('etag')).toBe(false);
      expect(headers.has('server')).toBe(false);
    });
  });
}
